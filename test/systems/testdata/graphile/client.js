'use strict';
const { Client } = require('pg');
const { quickAddJob } = require('graphile-worker');
const { jobs } = require('./job');

async function main() {
  const connectionString = process.env.BROKER_URL;
  if (process.argv[2] === 'add') {
    for (const job of jobs()) await quickAddJob({ connectionString }, 'job', job);
    return;
  }
  const client = new Client(connectionString);
  await client.connect();
  const left = await client.query('SELECT payload FROM graphile_worker._private_jobs');
  for (const { payload } of left.rows) console.log(payload[0]);
  await client.end();
}

main();
