'use strict';
const { MultiWorker } = require('node-resque');
const connection = require('./connection');
const { run } = require('./job');

const worker = new MultiWorker({ connection, queues: ['jobs'], minTaskProcessors: 2, maxTaskProcessors: 2 },
  { run: { perform: run } });
process.on('SIGTERM', () => worker.stop());
worker.start();
