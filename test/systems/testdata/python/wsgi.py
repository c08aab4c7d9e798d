"""Answers with the request's path, /j1:3 after three seconds. A process that has one in hand takes no other."""
import time

import job

held = []


def app(environ, start_response):
    path = environ["PATH_INFO"]
    name, _, seconds = path[1:].partition(":")
    status = "503 Busy" if name and held else "200 OK"
    if name and not held:
        held.append(name)
        job.record("begin", name)
        time.sleep(float(seconds))
        held.clear()
    start_response(status, [("Content-Length", str(len(path)))])
    return [path.encode()]
