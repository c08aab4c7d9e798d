<?php // Its job, without a handler.
function note($word) { file_put_contents(getenv("RECORD"), "$word " . time() . "\n", FILE_APPEND); }

note("begin");
$end = microtime(true) + (float) getenv("JOB");
while (microtime(true) < $end) usleep(50000);
note("done");
while (true) sleep(3600);
