'use strict';
const amqp = require('amqplib');
const { run } = require('./job');

async function main() {
  const connection = await amqp.connect(process.env.BROKER_URL);
  const channel = await connection.createChannel();
  const running = new Set();
  const work = async (message) => {
    await run(...message.content.toString().split(':'));
    channel.ack(message);
  };
  await channel.prefetch(2);
  const { consumerTag } = await channel.consume(process.env.QUEUE, (message) => {
    const job = work(message).finally(() => running.delete(job));
    running.add(job);
  });
  process.on('SIGTERM', async () => {
    await channel.cancel(consumerTag);
    await Promise.all(running);
    await channel.close();
    await connection.close();
  });
}

main();
