# An application that runs all the time, as app.js does with TICK. With "manager" each step of its job asks a
# multiprocessing.Manager, which has no handler.
import os, signal, sys, time
from record import record # record.py

signals = 0


def handler(*_):
    global signals
    record("signalled", "SIGTERM")
    signals += 1
    if signals == 2:
        os._exit(1)


def work(shared=None):
    signal.signal(signal.SIGTERM, handler)
    record("begin")
    end = time.monotonic() + float(os.environ["JOB"])
    while time.monotonic() < end:
        if shared is not None:
            shared["n"] = shared.get("n", 0) + 1
        time.sleep(0.02)
    record("done")
    while not signals:
        time.sleep(0.02)
    os._exit(7)


if __name__ == "__main__":
    work()
