# Its job, without a handler.
def note(word) = File.write(ENV["RECORD"], "#{word} #{Time.now.to_i}\n", mode: "a")

note("begin")
sleep ENV["JOB"].to_f
note("done")
sleep
