"""A worker with children, which leaves at once by TERM.

usage: parent.py passes|leaves WAY NUMBER RECORD COMMAND [ARG...]

It starts COMMAND so often, with the record as one more argument. Where it "passes"
TERM on, each child has been sent it, once, before this leaves. Where it "leaves", none
has: the time is in the record then, as "left SECONDS".
"""
import os
import signal
import subprocess
import sys
import threading
import time

passes, way, number, record = sys.argv[1] == "passes", sys.argv[2], int(sys.argv[3]), sys.argv[4]
command = sys.argv[5:]
if command[0] == "python3":
    command[0] = sys.executable  # and no launcher of it
log = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
asked = threading.Event()


def pass_on():
    if passes and way == "to its group":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.killpg(0, signal.SIGTERM)
    elif passes:
        for child in children:
            os.kill(child.pid, signal.SIGTERM)


def leave():
    if way.startswith("after"):
        time.sleep(int(way.split()[1]) / 1000)
    if not passes:
        os.write(log, f"left {time.time():.6f}\n".encode())
    os._exit(0)


def by_another_process():
    pid = os.fork()
    if pid == 0:
        pass_on()
        os._exit(0)
    os.waitpid(pid, 0)
    leave()


def by_a_thread():
    asked.wait()
    pass_on()
    leave()


def stop(*_):
    if way == "by a thread":
        asked.set()
        return
    if way == "by another process":
        by_another_process()
    pass_on()
    leave()


children = [subprocess.Popen(command + [record]) for _ in range(number)]
if way == "by a thread":
    threading.Thread(target=by_a_thread, daemon=True).start()
signal.signal(signal.SIGTERM, stop)
os.write(log, b"parent\n")
while True:
    signal.pause()
