import { execa } from 'execa';
await execa('node', ['app.js'], { stdio: 'inherit' });
