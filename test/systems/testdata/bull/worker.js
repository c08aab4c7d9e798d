'use strict';
const Queue = require('bull');
const { run } = require('./job');

const queue = new Queue('jobs', process.env.BROKER_URL);
queue.process(2, ({ id, data }) => run(id, data.seconds));
process.on('SIGTERM', () => queue.close());
