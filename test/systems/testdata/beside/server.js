// A server that ends at TERM, as Redis does.
'use strict';
const http = require('node:http');
const { jobs, save } = require('./client');

const waiting = jobs();
http.createServer(({ method, url }, response) => {
  if (method === 'DELETE') save(jobs().filter(([name]) => url !== `/${name}`));
  response.end(JSON.stringify(method === 'POST' && waiting.shift()));
}).listen(process.env.BROKER_URL, '127.0.0.1');
process.on('SIGTERM', () => process.exit());
