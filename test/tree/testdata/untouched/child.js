// Drains for a second from its first TERM on, and records each.
//
// usage: node child.js http|timer RECORD
'use strict';
const fs = require('fs');
const http = require('http');

const [how, record] = process.argv.slice(2);
const say = (word) => fs.appendFileSync(record, `${word} ${process.pid}\n`);

let drains;
process.on('SIGTERM', () => {
  say('signalled');
  drains ??= setTimeout(() => process.exit(0), 1000);
});
if (how === 'timer') {
  setInterval(() => {}, 10);
  say('ready');
} else {
  http.createServer((_, response) => response.end()).listen(0, '127.0.0.1', () => say('ready'));
}
