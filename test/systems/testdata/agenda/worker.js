'use strict';
const { Agenda } = require('agenda');
const { run } = require('./job');

const agenda = new Agenda({ db: { address: `${process.env.BROKER_URL}/${process.env.QUEUE}` },
  processEvery: 500, maxConcurrency: 2 });
agenda.define('job', ({ attrs }) => run(...attrs.data));
agenda.once('ready', () => agenda.start());
process.on('SIGTERM', async () => {
  await agenda.drain();
  await agenda.close();
});
