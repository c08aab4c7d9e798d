require "active_record"
require "delayed_job_active_record"
require_relative "job"

database = File.join(__dir__, "jobs.db")
ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: database, timeout: 5000)

Job = Struct.new(:name, :seconds) do
  def perform
    run(name, seconds)
  end
end
