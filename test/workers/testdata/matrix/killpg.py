# It passes TERM to the group of its shell, and leaves when that has died while the application
# works on: it has the signal.
import os, signal, subprocess, sys

run = subprocess.Popen(sys.argv[1], shell=True, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(run.pid, signal.SIGTERM))
run.wait()
