const drain = process.argv.includes('-drain') ? 3000 : 0; // milliseconds
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => setTimeout(() => process.exit(0), drain));
setInterval(() => {}, 1000);
console.log(`ready ${process.pid}`);
