'use strict';
const { Worker } = require('bullmq');
const { Redis } = require('ioredis');
const { run } = require('./job');

const connection = new Redis(process.env.BROKER_URL, { maxRetriesPerRequest: null });
const worker = new Worker('jobs', ({ id, data }) => run(id, data.seconds), { connection, concurrency: 2 });
process.on('SIGTSTP', () => worker.pause(true));
process.on('SIGTERM', async () => {
  await worker.close();
  connection.disconnect();
});
