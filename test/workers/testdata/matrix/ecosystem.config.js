// PM2's own way to set what PM2_KILL_TIMEOUT does, and to wait for the application to say that
// it is ready.
module.exports = { apps: [{ name: 'app', script: 'app.js', exec_mode: 'fork',
  kill_timeout: 20000, wait_ready: true, listen_timeout: 10000 }] };
