# The job of the Ruby workers, and the record of what happened to it.
def record(what, job)
  File.open(ENV["RECORD"], "a") { |file| file.syswrite("#{what} #{job}\n") }
end

def run(job, seconds)
  record "begin", job
  sleep seconds.to_f
  record "done", job
rescue SignalException # by which a worker ends it
  record "back", job
  raise
end

# The jobs of a command line, such as j1:3.
def jobs
  ARGV.drop(1).map { |word| word.split(":") }
end
