// The same article's way to start it by pm2-runtime, with the limit that it gives to pm2 start.
module.exports = { apps: [{ name: 'index', script: 'index.js', exec_mode: 'cluster', instances: 2, kill_timeout: 5000 }] };
