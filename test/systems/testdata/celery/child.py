"""The application of `celery -A child worker`, whose task waits for a child process."""
import subprocess

import job
from app import app

job.sleep = lambda seconds: subprocess.run(["sleep", str(seconds)], check=True)
