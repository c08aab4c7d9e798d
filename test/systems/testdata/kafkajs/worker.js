'use strict';
const { Kafka } = require('kafkajs');
const { run } = require('./job');

const { BROKER_URL, QUEUE } = process.env;
const consumer = new Kafka({ brokers: [BROKER_URL] }).consumer({ groupId: QUEUE });

async function main() {
  await consumer.connect();
  await consumer.subscribe({ topics: [QUEUE], fromBeginning: true });
  await consumer.run({ eachMessage: ({ message }) => run(...message.value.toString().split(':')) });
}

process.on('SIGTERM', () => consumer.disconnect());
main();
