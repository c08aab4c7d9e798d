// A worker that takes its jobs from a server beside it, and reports each when it is done.
'use strict';
const { setTimeout } = require('node:timers/promises');
const { run } = require('./job');

let stops = false;
process.on('SIGTERM', () => { stops = true; });

async function ask(method, job) {
  const answer = await fetch(`http://127.0.0.1:${process.env.BROKER_URL}/${job}`, { method });
  return answer.json();
}

const take = () => ask('POST', '').catch(() => setTimeout(100).then(take)); // the server may not listen yet

async function main() {
  while (!stops) {
    const job = await take();
    await run(...job);
    await ask('DELETE', job[0]);
  }
}

main();
