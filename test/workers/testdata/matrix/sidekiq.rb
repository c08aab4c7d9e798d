# The application of `sidekiq -r sidekiq.rb`, and of whoever queues a job.
require "sidekiq"

def record(words)
  File.open(ENV["RECORD"], "a") { |file| file.syswrite(format("%s %.3f\n", words, Time.now.to_f)) }
end

class Job
  include Sidekiq::Worker

  def perform
    record "begin"
    sleep ENV["JOB"].to_f
    record "done"
  end
end

# Sidekiq has no way back from its quiet. This is the application's: processors
# that fetch take the place of those that have ended.
def resume
  launcher = Sidekiq::CLI.instance.launcher
  launcher.manager = Sidekiq::Manager.new(Sidekiq.options)
  launcher.manager.start
  Sidekiq.logger.info "Resumed"
end

if Sidekiq.server?
  # Sidekiq calls a trap that was there before its own.
  trap("TERM") { record "signalled SIGTERM" }
  continued = Thread::Queue.new
  trap("CONT") { continued << true }
  Thread.new { resume while continued.pop }
end
