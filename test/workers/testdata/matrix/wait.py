# It takes TERM by sigwait, as Swift's servers do. Linux queues a blocked signal although it is
# ignored.
import os, signal
from record import record

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
signal.signal(signal.SIGTERM, signal.SIG_IGN)
record("begin")
signal.sigwait({signal.SIGTERM})
record("signalled", "SIGTERM")
open(os.environ["END"]).close()
record("done")
