'use strict';
const PgBoss = require('pg-boss');
const { run } = require('./job');

const { BROKER_URL, QUEUE, LIMIT } = process.env;
const boss = new PgBoss(BROKER_URL);

async function main() {
  await boss.start();
  for (let slot = 0; slot < 2; slot++) {
    await boss.work(QUEUE, { pollingIntervalSeconds: 1 }, ([job]) => run(job.data.name, job.data.seconds));
  }
}

process.on('SIGTERM', async () => {
  await boss.stop({ graceful: true, wait: true, timeout: 1000 * LIMIT });
  process.exit();
});
main();
