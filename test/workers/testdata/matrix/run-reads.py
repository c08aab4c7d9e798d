# It reads what its application writes.
import subprocess

subprocess.run(["node", "app.js"], capture_output=True)
