// It has no handler.
setInterval(() => {}, 1000);
console.log(`ready ${process.pid}`);
