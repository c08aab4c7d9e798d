<?php
// The job of the PHP workers, and the record of what happened to it.
function record($what, $job)
{
    file_put_contents(getenv('RECORD'), "$what $job\n", FILE_APPEND);
}

function work($seconds)
{
    $end = microtime(true) + $seconds;
    while (($left = $end - microtime(true)) > 0) {
        usleep((int) ($left * 1e6)); // a signal ends it early
    }
}

function run($job, $seconds)
{
    record('begin', $job);
    work($seconds);
    record('done', $job);
}
