import os
import sys

import job
from redis import Redis
from rq import Queue

queue = Queue("jobs", connection=Redis.from_url(os.environ["BROKER_URL"]))
if sys.argv[1] == "add":
    for name, seconds in job.jobs(sys.argv[2:]):
        queue.enqueue("job.run", name, seconds, job_id=name)
else:
    for left in queue, queue.started_job_registry, queue.failed_job_registry:
        print(*left.get_job_ids(), sep="\n")
