// A cluster whose primary passes TERM on to its workers, which close their server.
'use strict';
const cluster = require('node:cluster');
const { listen } = require('./serve');

if (cluster.isPrimary) {
  const workers = [cluster.fork(), cluster.fork()];
  process.on('SIGTERM', () => workers.forEach((worker) => worker.process.kill('SIGTERM')));
} else {
  const server = listen();
  process.on('SIGTERM', () => server.close(() => process.exit()));
}
