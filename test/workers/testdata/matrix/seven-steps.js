// The seven steps of an article on shutdown: the server first, the message in flight, the connections, the exit.
'use strict';
const fastify = require('fastify')();
const { record, job } = require('./record.js');

const step = (name) => async () => record(`step ${name}`);
const channel = { cancel: step('cancel'), close: step('channel') };
const stream = { close: step('stream') };
const client = { close: step('client') };
const connection = { close: step('connection') };
let pendingPromise;

fastify.get('/', async () => {
  pendingPromise = job();
  return 'whole\n';
});

process.on('SIGTERM', async () => {
  record('signalled SIGTERM');
  await fastify.close();
  await channel.cancel();
  if (pendingPromise) await pendingPromise.catch(() => {});
  await stream.close();
  await client.close();
  await channel.close();
  await connection.close();
  process.exit(0);
});

fastify.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
