// A worker that does one job after another, and leaves after the one in flight.
const [, , duration] = process.argv;
let stopping = false, quiet = false, job = 0, busy = false;

function next() {
  if (stopping) process.exit(0);
  busy = !quiet;
  if (!busy) return;
  console.log(`job ${++job} begins`);
  setTimeout(() => { console.log(`job ${job} ends`); next(); }, duration);
}

process.on('SIGTSTP', () => { quiet = true; });
process.on('SIGTERM', () => { stopping = true; if (!busy) process.exit(0); });
next();
