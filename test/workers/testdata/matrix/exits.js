// It exits on TERM while its application works on.
const { spawn } = require('node:child_process');
process.on('SIGTERM', () => process.exit());
spawn('node', ['app.js'], { stdio: 'inherit' }).on('exit', (code) => process.exit(code));
