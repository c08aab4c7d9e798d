'use strict';
require('reflect-metadata');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { answer } = require('./serve');

class App {}
Module({})(App);

async function main() {
  const app = await NestFactory.create(App);
  app.enableShutdownHooks();
  app.use(answer);
  await app.listen(process.env.PORT, '127.0.0.1');
}

main();
