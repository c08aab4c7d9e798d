// Its job, without a handler.
const fs = require('node:fs');
const note = (word) => fs.appendFileSync(process.env.RECORD, `${word} ${Math.floor(Date.now() / 1000)}\n`);

note('begin');
setTimeout(() => note('done'), 1000 * process.env.JOB);
setInterval(() => {}, 1e9);
