'use strict';
const { Queue } = require('bullmq');
const { Redis } = require('ioredis');
const { jobs } = require('./job');

async function main() {
  const connection = new Redis(process.env.BROKER_URL, { maxRetriesPerRequest: null });
  const queue = new Queue('jobs', { connection });
  if (process.argv[2] === 'add') {
    for (const [jobId, seconds] of jobs()) await queue.add('job', { seconds }, { jobId });
  } else {
    for (const job of await queue.getJobs(['wait', 'active', 'failed', 'delayed'])) console.log(job.id);
  }
  await queue.close();
  connection.disconnect();
}

main();
