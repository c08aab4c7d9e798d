# Its application dies of SIGSEGV.
import subprocess

subprocess.run(["perl", "faults.pl"])
