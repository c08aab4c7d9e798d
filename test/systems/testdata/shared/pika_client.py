import os
import sys
import time

import pika

connection = pika.BlockingConnection(pika.URLParameters(os.environ["BROKER_URL"]))
channel = connection.channel()
queue = os.environ["QUEUE"]
if sys.argv[1] == "add":
    channel.queue_declare(queue)
    for name in sys.argv[2:]:
        channel.basic_publish("", queue, name.encode())
else:
    while channel.queue_declare(queue, passive=True).method.consumer_count:
        time.sleep(0.05)  # until the broker has seen that the worker is gone
    while body := channel.basic_get(queue, auto_ack=True)[2]:
        print(body.decode().split(":")[0])
connection.close()
