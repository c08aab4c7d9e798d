# It has no handler.
import os, time
print("ready", os.getpid(), flush=True)
while True:
    time.sleep(1)
