// The server of an article on task queues and signals: it handles INT alone, and waits 2 s before it closes.
'use strict';
const http = require('node:http');
const { record, job } = require('./record.js');

const server = http.createServer(async (_, res) => res.end(await job()));

process.on('SIGINT', async () => {
  record('signalled SIGINT');
  await new Promise((r) => setTimeout(r, 2000));
  server.close(() => process.exit(0));
});

server.listen(process.env.PORT, '127.0.0.1');
