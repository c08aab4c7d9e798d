# Its handler ignores TERM, blocks it, or leaves it as it is, before it signals its child or its group, and waits.
# "ignored" has no handler: it ignores TERM, and what it starts does not.
import os, signal, subprocess, sys

how = sys.argv[1]
command = ["node", "app.js"]
if sys.argv[2:] == ["bash"]:
    command = ["bash", "-c", "python3 guards.py ignored; true"]
default = lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)
signalled = False


def handler(*_):
    global signalled
    if signalled:
        return
    signalled = True
    if how == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child.terminate()
    if how == "block":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    if how in ("block", "group"):
        os.killpg(0, signal.SIGTERM)
    os.waitpid(child.pid, 0)
    os._exit(0)


if how == "ignored":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(command, preexec_fn=default)
if how == "ignored":
    sys.exit(max(0, child.wait()))
signal.signal(signal.SIGTERM, handler)
while True:
    signal.pause()
