'use strict';
const { Agenda } = require('agenda');
const { jobs } = require('./job');

async function main() {
  const agenda = new Agenda({ db: { address: `${process.env.BROKER_URL}/${process.env.QUEUE}` } });
  await new Promise((resolve) => agenda.once('ready', resolve));
  if (process.argv[2] === 'add') {
    for (const job of jobs()) await agenda.now('job', job);
  } else {
    for (const { attrs } of await agenda.jobs({ lastFinishedAt: null })) console.log(attrs.data[0]);
  }
  await agenda.close();
}

main();
