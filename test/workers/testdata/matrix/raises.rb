# It ends its job, and raises TERM when that has come.
def note(word) = File.write(ENV["RECORD"], "#{word} #{Time.now.to_i}\n", mode: "a")

$stop = false
trap("TERM") { $stop = true }
note("begin")
ends = Time.now + ENV["JOB"].to_f
sleep 0.05 while Time.now < ends
note("done")
sleep 0.05 until $stop
raise SignalException, "SIGTERM"
