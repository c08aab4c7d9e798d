# On TERM it leaves its application.
import signal, subprocess, sys

p = subprocess.Popen(["node", "app.js"])
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
while True:
    signal.pause()
