// A worker of the Open Job Spec, with the whole of its graceful shutdown:
// TSTP quiets it, CONT takes that back, TERM and INT drain it, a second one
// stops it by force. Its jobs are GET requests: one is done when it is answered.
//
//   OJS_URL                    where the backend is
//   OJS_SHUTDOWN_GRACE_PERIOD  for the jobs in flight, such as 80s (default 30s); or OJS_GRACE_PERIOD
//   HEARTBEAT_MS               between two heartbeats (default 5000)
//   STAY                       if set, it does not exit after its last heartbeat
//   RECORD                     if set, the file for what the tests look at: begin, signalled, done
import fs from 'node:fs';
import http from 'node:http';

const { RECORD, OJS_URL, OJS_GRACE_PERIOD = '30s', OJS_SHUTDOWN_GRACE_PERIOD = OJS_GRACE_PERIOD, HEARTBEAT_MS = '5000', STAY } = process.env;
const workerId = `worker-${process.pid}`;
const pollEvery = 50, reportEvery = 5000; // milliseconds
const grace = milliseconds(OJS_SHUTDOWN_GRACE_PERIOD);
const inFlight = new Map(); // a job's id, and how to cancel its work
let state = 'running';
let stopping = false;
let whenIdle = () => {};

// milliseconds reads a duration such as 80s, 1m30s, 500ms or 80 (seconds).
function milliseconds(text) {
  const units = { '': 1000, ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  return [...text.matchAll(/(\d+)(ms|s|m|h|)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
}

function record(words) {
  if (RECORD) fs.appendFileSync(RECORD, `${words} ${(Date.now() / 1000).toFixed(3)}\n`);
}

// request resolves to the body of the answer.
function request(method, url, { body, signal } = {}) {
  return new Promise((resolve, reject) => {
    const sent = http.request(url, { method, signal, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => { text += part; });
      answer.on('end', () => resolve(text)).on('error', reject);
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}

// The backend is asked one thing at a time, so that it sees all in the order in
// which it happened. What is to be sent is only then made up.
let last = Promise.resolve();
function call(verb, makeBody) {
  const answer = last.then(async () => {
    const body = makeBody();
    if (!body) return {};
    return JSON.parse(await request('POST', `${OJS_URL}/ojs/v1/workers/${verb}`, { body: { worker_id: workerId, ...body } }));
  });
  last = answer.catch((error) => console.log(`cannot ${verb}: ${error.message}`));
  return last.then((value) => value ?? {});
}

const beat = () => call('heartbeat', () => ({ state, active_jobs: [...inFlight.keys()] }));

async function fetchJobs() {
  const { jobs = [] } = await call('fetch', () => state === 'running' && { queues: ['default'], count: 1 });
  for (const job of jobs) perform(job);
}

async function perform({ id, args: [url] }) {
  const work = new AbortController();
  inFlight.set(id, work);
  record('begin');
  try {
    await request('GET', url, { signal: work.signal });
  } catch (error) {
    if (!work.signal.aborted) await call('nack', () => ({ job_id: id, error: { type: 'WorkError', message: error.message, retryable: true } }));
    return finished(id);
  }
  work.ended = true; // from here on it can't be given back
  await call('ack', () => ({ job_id: id }));
  record('done');
  finished(id);
}

function finished(id) {
  inFlight.delete(id);
  if (inFlight.size === 0) whenIdle();
}

// giveBack cancels what is still at work and FAILs it, to be tried again.
async function giveBack() {
  for (const [id, work] of inFlight) {
    if (work.ended) continue;
    work.abort();
    await call('nack', () => ({ job_id: id, error: { type: 'ShutdownError', code: 'shutdown', message: `not done in ${grace} ms`, retryable: true } }));
  }
}

function report() {
  console.log(`draining: ${inFlight.size} jobs in flight`);
}

async function stop(signal) {
  console.log(`got ${signal}`);
  record(`signalled ${signal}`);
  if (stopping) process.exit(1);
  stopping = true;
  state = 'quiet';
  beat();
  report();
  const reports = setInterval(report, reportEvery);
  let limit;
  await Promise.race([
    new Promise((resolve) => { whenIdle = resolve; if (inFlight.size === 0) resolve(); }),
    new Promise((resolve) => { limit = setTimeout(resolve, grace); }),
  ]);
  clearTimeout(limit);
  await giveBack();
  for (const timer of [reports, beats, polls]) clearInterval(timer);
  state = 'terminate';
  await beat();
  console.log('stopped');
  if (!STAY) process.exit(0);
  setInterval(() => {}, 1000);
}

function quiet() {
  console.log('got SIGTSTP');
  if (state !== 'running') return;
  state = 'quiet';
  beat();
}

function resume() {
  console.log('got SIGCONT');
  if (stopping || state !== 'quiet') return;
  state = 'running';
  beat();
}

process.on('SIGTERM', stop).on('SIGINT', stop).on('SIGTSTP', quiet).on('SIGCONT', resume);
beat();
const beats = setInterval(beat, milliseconds(`${HEARTBEAT_MS}ms`));
const polls = setInterval(fetchJobs, pollEvery);
console.log(`ready ${process.pid}, grace ${grace / 1000} s`);
