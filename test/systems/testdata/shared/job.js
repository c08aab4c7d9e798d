// The job of the Node workers, and the record of what happened to it.
'use strict';
const fs = require('node:fs');

function record(what, job) {
  fs.appendFileSync(process.env.RECORD, `${what} ${job}\n`);
}

async function run(job, seconds) {
  record('begin', job);
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  record('done', job);
}

// The jobs of a command line, such as j1:3.
const jobs = () => process.argv.slice(3).map((word) => word.split(':'));

module.exports = { record, run, jobs };
