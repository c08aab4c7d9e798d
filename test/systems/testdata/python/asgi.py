"""The same as wsgi.py, for servers with an event loop."""
import asyncio

import job

held = []


async def app(scope, receive, send):
    assert scope["type"] == "http"  # no lifespan
    path = scope["path"]
    name, _, seconds = path[1:].partition(":")
    status = 503 if name and held else 200
    if name and not held:
        held.append(name)
        job.record("begin", name)
        await asyncio.sleep(float(seconds))
        held.clear()
    headers = [(b"content-length", str(len(path)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": path.encode()})
