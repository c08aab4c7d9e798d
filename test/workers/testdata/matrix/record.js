// What the programs of the documents record of a job: see the way in way_test.go.
'use strict';
const fs = require('node:fs');

function record(words) {
  fs.appendFileSync(process.env.RECORD, `${words} ${(Date.now() / 1000).toFixed(3)}\n`);
}

async function job() {
  record('begin');
  await new Promise((resolve) => setTimeout(resolve, 1000 * process.env.JOB));
  record('done');
  return 'whole\n';
}

module.exports = { record, job };
