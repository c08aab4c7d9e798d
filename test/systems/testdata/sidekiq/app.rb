# The application of `sidekiq -r ./app.rb`.
require "sidekiq"
require_relative "job"

ENV["REDIS_URL"] = ENV["BROKER_URL"]

class Job
  include Sidekiq::Worker

  def perform(name, seconds)
    run(name, seconds)
  end
end
