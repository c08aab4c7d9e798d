// A cluster whose primary disconnects its workers at TERM: each leaves when its requests are answered.
'use strict';
const cluster = require('node:cluster');
const { listen } = require('./serve');

if (cluster.isPrimary) {
  process.on('SIGTERM', () => cluster.disconnect());
  cluster.fork();
  cluster.fork();
} else {
  listen();
}
