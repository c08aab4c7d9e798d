'use strict';
const kill_timeout = 1000 * process.env.LIMIT;

module.exports = { apps: [{ script: 'app.js', instances: 2, exec_mode: 'cluster', kill_timeout }] };
