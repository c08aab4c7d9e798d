require_relative "app"
require "sidekiq/api"

if ARGV[0] == "add"
  jobs.each { |job| Job.perform_async(*job) }
else
  [Sidekiq::Queue.new, Sidekiq::RetrySet.new].each { |left| left.each { |job| puts job.args[0] } }
end
