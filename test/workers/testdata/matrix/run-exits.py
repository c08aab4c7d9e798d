# On TERM it exits, by which subprocess.run kills its application.
import signal, subprocess, sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
subprocess.run(["node", "app.js"])
