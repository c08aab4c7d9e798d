// The server of an architecture decision on graceful shutdown: 5 s for requests, then its queues and pool.
'use strict';
const express = require('express');
const { record, job } = require('./record.js');

let inFlight = Promise.resolve();
const shutdownQueues = () => Promise.allSettled([{ close: () => inFlight }].map((queue) => queue.close()));
const closePool = async () => {};

const app = express();
app.get('/', async (_, res) => res.send(await (inFlight = job())));
const server = app.listen(process.env.PORT, '127.0.0.1');

const gracefulShutdown = async (signal) => {
  record(`signalled ${signal}`);
  server.close();
  await new Promise((resolve) => setTimeout(resolve, 5000));
  await shutdownQueues();
  await closePool();
  process.exit(0);
};

process.on('SIGTERM', () => gracefulShutdown('SIGTERM'));
process.on('SIGINT', () => gracefulShutdown('SIGINT'));
