require "beaneater"
require_relative "job"

stopping = false
trap("TERM") { stopping = true }
tubes = Beaneater.new(ENV["BROKER_URL"]).tubes
tubes.watch!(ENV["QUEUE"])
until stopping
  begin
    job = tubes.reserve(1)
    run(*job.body.split(":"))
    job.delete
  rescue Beaneater::TimedOutError
    next
  end
end
