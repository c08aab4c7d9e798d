"""The worker class and the job of `rq worker -w rq_jobs.Counted`."""
import signal

from record import job, record  # the job is enqueued as rq_jobs.job
from rq import Worker


class Counted(Worker):
    """Records each run of the two handlers: the first TERM's and the second's."""

    def request_stop(self, signum, frame):
        record("signalled", signal.Signals(signum).name)
        super().request_stop(signum, frame)

    def request_force_stop(self, signum, frame):
        record("signalled", signal.Signals(signum).name)
        super().request_force_stop(signum, frame)
