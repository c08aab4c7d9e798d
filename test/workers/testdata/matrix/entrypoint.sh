#!/bin/sh
redis-server --daemonize yes --port $PORT --bind 127.0.0.1 --save '' --logfile redis.log
exec rq worker --url redis://127.0.0.1:$PORT/0 --worker-class rq_jobs.Counted
