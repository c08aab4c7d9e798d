# Its job, with a slow end, and without a handler.
def note(word) = File.write(ENV["RECORD"], "#{word} #{Time.now.to_i}\n", mode: "a")

begin
  note("begin")
  sleep ENV["JOB"].to_f
  note("done")
  sleep
ensure
  sleep 1
end
