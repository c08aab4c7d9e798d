import signal, subprocess, sys

signal.signal(signal.SIGTERM, lambda *_: None)
sys.exit(subprocess.run(["node", "app.js"]).returncode)
