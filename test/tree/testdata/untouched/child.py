"""Drains for a second from its first TERM on, and records each.

usage: child.py handler|sigwait|signalfd|busy THREADS RECORD
"""
import ctypes
import os
import select
import signal
import sys
import threading
import time

how, threads = sys.argv[1], int(sys.argv[2])
record = os.open(sys.argv[3], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
drains = []


def say(word):
    os.write(record, f"{word} {os.getpid()}\n".encode())


def signalled(*_):
    say("signalled")
    if not drains:
        drains.append(threading.Timer(1, os._exit, [0]))
        drains[0].start()


def block():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def by_sigwait():
    while True:
        signal.sigwait({signal.SIGTERM})
        signalled()


def sleeping():
    while True:
        time.sleep(1000)


def by_signalfd():
    mask = ctypes.create_string_buffer((1 << signal.SIGTERM - 1).to_bytes(128, "little"), 128)
    fd = ctypes.CDLL(None).signalfd(-1, mask, 0)
    say("ready")
    while True:
        select.select([fd], [], [])
        os.read(fd, 128)
        signalled()


if how in ("sigwait", "signalfd"):
    block()
else:
    # A handler runs between two operations: this ends the read below, whenever it comes.
    wakes, awake = os.pipe()
    os.set_blocking(awake, False)
    signal.set_wakeup_fd(awake)
    signal.signal(signal.SIGTERM, signalled)
for _ in range(threads):
    threading.Thread(target=sleeping, daemon=True).start()
if how == "sigwait":
    threading.Thread(target=by_sigwait, daemon=True).start()
if how == "signalfd":
    by_signalfd()
say("ready")
while how == "busy":
    pass
while how == "sigwait":
    time.sleep(1000)
while True:
    os.read(wakes, 1)
