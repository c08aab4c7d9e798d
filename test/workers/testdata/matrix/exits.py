# It exits on TERM while its application works on.
import signal, subprocess, sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
sys.exit(subprocess.Popen(["node", "app.js"]).wait())
