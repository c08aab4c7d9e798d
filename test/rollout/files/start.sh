#!/bin/sh
# A start script without exec: the shell stays above the worker.
echo starting
node /worker.js
