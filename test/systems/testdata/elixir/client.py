import os
import sys

import redis

client = redis.Redis.from_url(os.environ["BROKER_URL"])
if sys.argv[1] == "add":
    client.lpush(os.environ["QUEUE"], *sys.argv[2:])
else:
    for job in client.lrange(os.environ["QUEUE"], 0, -1) + client.lrange("held", 0, -1):
        print(job.decode().split(":")[0])
