<?php
// Answers with the request's path, /j1:3 after three seconds.
require 'job.php';

$path = $_SERVER['REQUEST_URI'];
if ($path !== '/') {
    [$job, $seconds] = explode(':', substr($path, 1));
    record('begin', $job);
    work($seconds);
}
echo $path;
