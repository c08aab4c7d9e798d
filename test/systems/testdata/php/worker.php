<?php
require 'PhpAmqpLib/autoload.php';
require 'job.php';

use PhpAmqpLib\Connection\AMQPStreamConnection;

$stopping = false;
pcntl_async_signals(true);
pcntl_signal(SIGTERM, function () use (&$stopping) {
    $stopping = true;
});
$url = parse_url(getenv('BROKER_URL'));
$connection = new AMQPStreamConnection($url['host'], $url['port'], $url['user'], $url['pass']);
$channel = $connection->channel();
$channel->basic_qos(0, 1, false);
while (!$stopping) {
    $message = $channel->basic_get(getenv('QUEUE'));
    if ($message) {
        run(...explode(':', $message->body));
        $message->ack();
    } else {
        usleep(100000);
    }
}
$connection->close();
