# Its job, without a handler.
import os, time


def note(word):
    open(os.environ["RECORD"], "a").write("%s %d\n" % (word, time.time()))


def job():
    note("begin")
    end = time.time() + float(os.environ["JOB"])
    while time.time() < end:
        time.sleep(0.05)
    note("done")


if __name__ == "__main__":
    job()
    time.sleep(3600)
