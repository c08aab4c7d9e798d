require_relative "app"

if ARGV[0] == "add"
  ActiveRecord::Schema.define do
    create_table :delayed_jobs do |t|
      t.integer :priority, default: 0
      t.integer :attempts, default: 0
      t.text :handler
      t.text :last_error
      t.datetime :run_at
      t.datetime :locked_at
      t.datetime :failed_at
      t.string :locked_by
      t.string :queue
      t.timestamps null: true
    end
  end
  jobs.each { |job| Delayed::Job.enqueue(Job.new(*job), queue: ENV["QUEUE"]) }
else
  Delayed::Job.all.each { |left| puts left.payload_object.name }
end
