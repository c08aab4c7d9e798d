'use strict';
const { Queue } = require('node-resque');
const connection = require('./connection');
const { jobs } = require('./job');

async function main() {
  const queue = new Queue({ connection });
  await queue.connect();
  if (process.argv[2] === 'add') {
    for (const job of jobs()) await queue.enqueue('jobs', 'run', job);
  } else {
    const held = Object.values(await queue.allWorkingOn()).map(({ payload }) => payload);
    const left = [...await queue.queued('jobs', 0, -1), ...held];
    for (const job of left) if (job) console.log(job.args[0]);
  }
  await queue.end();
}

main();
