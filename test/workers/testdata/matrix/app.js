// An application with a job in hand from its start. Asked to stop, it ends the job and then itself.
//
//   CATCH   the signals that it handles: SIGTERM,SIGINT if unset
//   IGNORE  signals that it handles by doing nothing
//   CHATTY  it prints a line each 50 ms, which the file written has, too, and so dies of a reader that has gone
//   READY   it tells who started it that it is ready, as PM2 can ask for
//   STATUS  its exit status, 0 if unset; "raise": it dies of the signal
//   TWICE   "exit": it leaves its job and exits with 1 when it is signalled again
//   TICK    it runs each so many ms, and so can't be seen to have received no signal
'use strict';
const fs = require('node:fs');

const { RECORD, JOB, CATCH = 'SIGTERM,SIGINT', IGNORE, STATUS = '0', TWICE, TICK } = process.env;
if (process.env.CHATTY) setInterval(() => (fs.appendFileSync('written', 'working\n'), console.log('working')), 50);
if (TICK) setInterval(() => {}, Number(TICK));
setInterval(() => {}, 1e9); // it would wait for the next job
let ended = false;
let signal;

function record(words) {
  fs.appendFileSync(RECORD, `${words} ${(Date.now() / 1000).toFixed(3)}\n`);
}

function leave() {
  if (!ended || !signal) return;
  if (STATUS !== 'raise') process.exit(Number(STATUS));
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

for (const name of CATCH.split(',')) {
  process.on(name, () => {
    record(`signalled ${name}`);
    if (signal && TWICE) process.exit(1);
    signal = name;
    leave();
  });
}

if (IGNORE) process.on(IGNORE, () => {});

record('begin');
if (process.env.READY) process.send('ready');
setTimeout(() => {
  record('done');
  ended = true;
  leave();
}, 1000 * JOB);
