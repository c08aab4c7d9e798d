'use strict';
const PgBoss = require('pg-boss');
const { jobs } = require('./job');

async function main() {
  const { BROKER_URL, QUEUE } = process.env;
  const boss = new PgBoss(BROKER_URL);
  await boss.start();
  if (process.argv[2] === 'add') {
    await boss.createQueue(QUEUE);
    for (const [name, seconds] of jobs()) await boss.send(QUEUE, { name, seconds });
  } else {
    const query = "SELECT data, state FROM pgboss.job WHERE state <> 'completed' AND name = $1";
    const left = await boss.getDb().executeSql(query, [QUEUE]);
    for (const { data, state } of left.rows) console.log(data.name, state === 'retry' ? 'back' : state);
  }
  await boss.stop({ graceful: false });
}

main();
