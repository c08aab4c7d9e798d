# A job, and then a wait for TERM, whichever comes first.
def record(words)
  File.write(ENV['RECORD'], format("%s %.3f\n", words, Time.now.to_f), mode: 'a')
end

signalled = false
trap('TERM') do
  record('signalled SIGTERM')
  signalled = true
end

record('begin')
ends = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ENV['JOB'].to_f
sleep 0.02 while Process.clock_gettime(Process::CLOCK_MONOTONIC) < ends
record('done')
sleep 0.02 until signalled
