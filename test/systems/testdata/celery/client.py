import os
import queue
import sys

import app
import job

if sys.argv[1] == "add":
    for words in job.jobs(sys.argv[2:]):
        app.run.delay(*words)
else:
    with app.app.connection() as connection:
        left = connection.SimpleQueue(app.app.amqp.queues[os.environ["QUEUE"]])
        try:
            while True:
                message = left.get(block=False)
                message.ack()
                print(*message.payload[0][:1])
        except queue.Empty:
            pass
