'use strict';
const server = require('./serve').listen();

process.on('SIGINT', () => server.close(() => process.exit()));
