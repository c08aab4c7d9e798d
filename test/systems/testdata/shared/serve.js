// Answers with the request's path, /j1:3 after three seconds. A process that has one in hand takes no other.
'use strict';
const http = require('node:http');
const { record } = require('./job');

let held;

function answer({ url }, response) {
  const [name, seconds] = url.slice(1).split(':');
  if (name && held) {
    response.statusCode = 503;
  } else if (name) {
    held = name;
    record('begin', name);
    setTimeout(() => {
      held = undefined;
      response.end(url);
    }, 1000 * seconds);
    return;
  }
  response.end(url);
}

const listen = () => http.createServer(answer).listen(process.env.PORT, '127.0.0.1');

module.exports = { answer, listen };
