# The application of `puma puma.ru`: each request is a job.
def record(words)
  File.open(ENV["RECORD"], "a") { |file| file.syswrite(format("%s %.3f\n", words, Time.now.to_f)) }
end

# Puma has set its traps when it loads this.
inner = trap("TERM") do
  record "signalled SIGTERM"
  inner.call
end

run lambda { |_env|
  record "begin"
  sleep ENV["JOB"].to_f
  record "done"
  [200, { "content-type" => "text/plain" }, ["whole\n"]]
}
