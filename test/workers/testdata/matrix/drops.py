# On TERM it ends, whatever becomes of the job of bare.py.
import signal, sys, time

from bare import job

signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
job()
time.sleep(3600)
