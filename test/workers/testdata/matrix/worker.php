<?php
// A job, and then a wait for the signal, whichever comes first.
function record(string $words): void
{
    file_put_contents(getenv('RECORD'), sprintf("%s %.3f\n", $words, microtime(true)), FILE_APPEND);
}

$signalled = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$signalled) {
    record('signalled SIGTERM');
    $signalled = true;
});

record('begin');
$end = microtime(true) + (float) getenv('JOB');
while (microtime(true) < $end) {
    usleep(10000); // a signal ends it early
}
record('done');
while (!$signalled) {
    usleep(10000);
}
