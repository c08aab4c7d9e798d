// An HTTP server as the Node documentation would have it: on SIGTERM it takes
// no more connections, answers what it has begun to, and exits.
//
// A request is answered once its body has ended and 3 s have passed, by the
// number of bytes and the SHA-256 of the body.
'use strict';
const http = require('node:http');
const crypto = require('node:crypto');

const server = http.createServer((request, response) => {
  const hash = crypto.createHash('sha256');
  let bytes = 0;
  const ended = new Promise((resolve) => request.on('end', resolve));
  const passed = new Promise((resolve) => setTimeout(resolve, 3000));
  request.on('data', (chunk) => {
    bytes += chunk.length;
    hash.update(chunk);
  });
  Promise.all([ended, passed]).then(() => {
    console.log('answered');
    response.end(`${bytes} ${hash.digest('hex')}\n`);
  });
  console.log('request');
});

process.on('SIGTERM', () => {
  console.log('got SIGTERM');
  server.close(() => console.log('closed')); // nothing else keeps node alive then
});

server.listen(0, '127.0.0.1', () => console.log(`listening ${server.address().port}`));
