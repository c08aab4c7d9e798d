# A server that looks for work all the time.
import signal, sys, time
from record import record

def signalled(*_):
    record("signalled", "SIGTERM")
    sys.exit()

signal.signal(signal.SIGTERM, signalled)
record("begin")
record("done")
while True:
    time.sleep(0.05)
