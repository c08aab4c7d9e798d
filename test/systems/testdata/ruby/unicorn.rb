listen "127.0.0.1:#{ENV["PORT"]}"
worker_processes 2
timeout ENV["LIMIT"].to_i
