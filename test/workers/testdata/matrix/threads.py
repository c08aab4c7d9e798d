"""A worker with a job in one thread and the stop signal in another, whose main
thread ends: its process then looks like a zombie, and is none."""
import ctypes
import os
import signal
import threading

from record import job, record


def wait_for_the_end():
    signal.sigwait({signal.SIGTERM})
    record("signalled", "SIGTERM")
    working.join()
    os._exit(0)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
working = threading.Thread(target=job)
working.start()
threading.Thread(target=wait_for_the_end).start()
ctypes.CDLL(None).pthread_exit(None)
