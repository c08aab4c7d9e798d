"""gunicorn's settings: its master counts what it is signalled. It tells its workers
itself, so theirs is not counted."""
import record

workers = 3


def when_ready(_server):
    record.count()
