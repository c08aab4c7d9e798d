'use strict';
const { hostname: host, port, pathname } = new URL(process.env.BROKER_URL);

module.exports = { pkg: 'ioredis', host, port: Number(port), database: Number(pathname.slice(1)) };
