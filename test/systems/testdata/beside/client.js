// The file in which the server has its jobs.
'use strict';
const fs = require('node:fs');
const given = require('./job').jobs;

const save = (jobs) => fs.writeFileSync('jobs', jobs.map((job) => job.join(':')).join('\n'));
const jobs = () => fs.readFileSync('jobs', 'utf8').split('\n').map((line) => line.split(':'));

if (process.argv[2] === 'add') save(given());
if (process.argv[2] === 'list') jobs().forEach(([name]) => console.log(name));

module.exports = { jobs, save };
