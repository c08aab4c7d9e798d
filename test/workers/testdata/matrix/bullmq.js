// A BullMQ worker; `bullmq.js add` queues a job and `bullmq.js look` prints what became of the first.
'use strict';
const fs = require('node:fs');
const { Queue, Worker } = require('bullmq');
const { Redis } = require('ioredis');

const connection = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null });

function record(words) {
  fs.appendFileSync(process.env.RECORD, `${words} ${(Date.now() / 1000).toFixed(3)}\n`);
}

async function job() {
  record('begin');
  await new Promise((resolve) => setTimeout(resolve, 1000 * process.env.JOB));
  record('done');
}

function work() {
  // A worker that is frozen for 2 s loses its lock on the job.
  const worker = new Worker('jobs', job, { connection, lockDuration: 2000, stalledInterval: 1000 });
  process.on('SIGTERM', async () => {
    record('signalled SIGTERM');
    await worker.close();
    connection.disconnect();
  });
}

async function ask(words) {
  const queue = new Queue('jobs', { connection });
  if (words === 'add') {
    await queue.add('job', {}, { jobId: 'first' });
  } else {
    const job = await queue.getJob('first');
    console.log(`${await job.getState()}, started ${job.attemptsStarted}, stalled ${job.stalledCounter}`);
  }
  await queue.close();
  connection.disconnect();
}

if (process.argv[2]) {
  ask(process.argv[2]);
} else {
  work();
}
