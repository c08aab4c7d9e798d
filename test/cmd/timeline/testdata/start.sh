#!/bin/bash
node worker.js 2000
echo "the worker has left: $?"
