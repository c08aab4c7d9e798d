// PM2's own way to give its applications more than 1.6 s, and the one whose environment is JSON.
module.exports = { apps: [{ name: 'app', script: 'app.js', exec_mode: 'cluster', instances: 1, kill_timeout: 10000 }] };
