'use strict';
process.env.FAKTORY_URL = process.env.BROKER_URL;
const faktory = require('faktory-worker');
const { run } = require('./job');

faktory.register('job', run);
faktory.work({ concurrency: 2, queues: [process.env.QUEUE], timeout: Number(process.env.LIMIT) });
