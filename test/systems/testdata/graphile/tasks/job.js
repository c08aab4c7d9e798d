'use strict';
const { run } = require('../job');

module.exports = ([name, seconds]) => run(name, seconds);
