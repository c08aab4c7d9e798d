"""The application of `celery -A app worker`."""
import os

import job
from celery import Celery

app = Celery(broker=os.environ["BROKER_URL"])
app.conf.task_default_queue = os.environ["QUEUE"]
app.conf.worker_prefetch_multiplier = 1
app.conf.task_acks_late = True  # else it also does what it has fetched beside the tasks in hand
app.conf.beat_schedule = {"tick": {"task": "tick", "schedule": 1}}  # of a worker that is started with -B


@app.task(name="job")
def run(name, seconds):
    job.run(name, seconds)


@app.task(name="tick")
def tick():
    pass
