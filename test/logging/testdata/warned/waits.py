# It waits for TERM, which it blocks.
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print("ready", os.getpid(), flush=True)
signal.sigwait({signal.SIGTERM})
