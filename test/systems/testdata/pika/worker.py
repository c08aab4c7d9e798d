import os
import signal

import job
import pika

connection = pika.BlockingConnection(pika.URLParameters(os.environ["BROKER_URL"]))
channel = connection.channel()
channel.basic_qos(prefetch_count=1)


def on_message(channel, method, properties, body):
    job.run(*body.decode().split(":"))
    channel.basic_ack(method.delivery_tag)


channel.basic_consume(os.environ["QUEUE"], on_message)
signal.signal(signal.SIGTERM, lambda *_: connection.add_callback_threadsafe(channel.stop_consuming))
channel.start_consuming()
connection.close()
