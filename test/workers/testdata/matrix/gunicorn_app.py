"""The application of `gunicorn gunicorn_app`: each request is a job."""
from record import job


def application(_environ, start_response):
    job()
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"whole\n"]
