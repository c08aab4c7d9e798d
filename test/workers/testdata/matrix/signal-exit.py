# It passes TERM on and dies of it by its own hand.
import os, signal, subprocess

c = subprocess.Popen(["node", "app.js"])

def signalled(*_):
    c.terminate()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGTERM, signalled)
c.wait()
