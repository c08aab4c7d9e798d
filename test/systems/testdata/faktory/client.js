'use strict';
process.env.FAKTORY_URL = process.env.BROKER_URL;
const faktory = require('faktory-worker');
const { jobs } = require('./job');

async function main() {
  const client = await faktory.connect();
  const queue = process.env.QUEUE;
  if (process.argv[2] === 'add') {
    for (const args of jobs()) await client.push({ jid: `${queue}.${args[0]}`, jobtype: 'job', args, queue });
  } else {
    const ours = (job) => job.queue === queue;
    const { waiting, held } = await client.info();
    for (const { args } of waiting.filter(ours)) console.log(args[0], 'back');
    for (const { args } of held.filter(ours)) console.log(args[0]);
  }
  await client.close();
}

main();
