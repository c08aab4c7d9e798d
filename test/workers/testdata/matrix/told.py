# A server without a handler, which a line in the pipe f asks to stop: then it ends its job.
import os, time
from record import record # record.py

f = os.open("f", os.O_RDWR)
record("begin")
os.read(f, 1)
end = time.monotonic() + float(os.environ["JOB"])
while time.monotonic() < end:
    time.sleep(0.02)
record("done")
