'use strict';
const Queue = require('bull');
const { jobs } = require('./job');

async function main() {
  const queue = new Queue('jobs', process.env.BROKER_URL);
  if (process.argv[2] === 'add') {
    for (const [jobId, seconds] of jobs()) await queue.add({ seconds }, { jobId });
  } else {
    for (const { id } of await queue.getJobs(['waiting', 'active', 'failed', 'delayed'])) console.log(id);
  }
  await queue.close();
}

main();
