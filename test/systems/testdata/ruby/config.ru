# Answers with the request's path, /j1:3 after three seconds.
require_relative "job"

run lambda { |env|
  path = env["PATH_INFO"]
  name, seconds = path.delete_prefix("/").split(":")
  record "begin", name if name
  sleep seconds.to_f
  [200, {"content-length" => path.size.to_s}, [path]]
}
