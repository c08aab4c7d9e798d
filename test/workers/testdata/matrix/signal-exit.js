// It passes TERM on and dies of it by its own hand.
const { spawn } = require('node:child_process');
const c = spawn('node', ['app.js'], { stdio: 'inherit' });
process.once('SIGTERM', () => {
  c.kill('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
});
