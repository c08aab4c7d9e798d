// The same decision's file for PM2. Its program never says that it is ready, so PM2 waits for that in vain.
module.exports = {
  apps: [
    {
      name: 'flyer-crawler-api',
      script: 'server.ts',
      interpreter: 'tsx',
      kill_timeout: 10000,
      wait_ready: true,
      listen_timeout: 10000,
      instances: 1,
      exec_mode: 'fork',
      env_test: { NODE_ENV: 'test', PORT: process.env.PORT },
    },
  ],
};
