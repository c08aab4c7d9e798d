require "beaneater"

beanstalk = Beaneater.new(ENV["BROKER_URL"])
tube = beanstalk.tubes[ENV["QUEUE"]]
if ARGV.shift == "add"
  ARGV.each { |job| tube.put(job, ttr: 120) }
else
  beanstalk.tubes.watch!(ENV["QUEUE"])
  begin
    loop { puts beanstalk.tubes.reserve(0).body.split(":")[0] }
  rescue Beaneater::TimedOutError
    exit
  end
end
