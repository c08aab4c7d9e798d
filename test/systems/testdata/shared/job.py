"""The job of the Python workers, and the record of what happened to it."""
import os
from time import sleep


def record(what, job):
    with open(os.environ["RECORD"], "ab", buffering=0) as file:
        file.write(f"{what} {job}\n".encode())


def run(job, seconds):
    record("begin", job)
    sleep(float(seconds))
    record("done", job)


def jobs(words):
    """The jobs of a command line, such as j1:3."""
    return [word.split(":") for word in words]
