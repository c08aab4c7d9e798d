# It has no handler, and its application may fail.
import subprocess

subprocess.run(["node", "app.js"])
