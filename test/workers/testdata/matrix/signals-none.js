process.on('SIGTERM', () => {});
try {
  require('node:child_process').execSync('node app.js', { stdio: 'inherit' });
} catch (e) {
  process.exit(e.status);
}
