# A stop command: it signals the process that it is given, and leaves a second later.
import os, signal, sys, time

os.kill(int(sys.argv[1]), signal.SIGTERM)
time.sleep(1)
