"""The application of `celery -A celery_app worker`. The pool's children count
too: a TERM that comes to one of them is a second `signalled` line."""
import os

import record
from celery import Celery
from celery.signals import worker_process_init, worker_ready

app = Celery(broker=os.environ["REDIS_URL"])


@app.task(name="job")
def job():
    record.job()


@worker_ready.connect
def count_in_master(**_):
    record.count()


@worker_process_init.connect
def count_in_child(**_):
    record.count()
