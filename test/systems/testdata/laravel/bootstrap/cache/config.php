<?php
$redis = parse_url(getenv('BROKER_URL'));

return [
    'app' => ['env' => 'production', 'timezone' => 'UTC', 'aliases' => [], 'providers' => [
        Illuminate\Bus\BusServiceProvider::class,
        Illuminate\Cache\CacheServiceProvider::class,
        Illuminate\Database\DatabaseServiceProvider::class,
        Illuminate\Filesystem\FilesystemServiceProvider::class,
        Illuminate\Foundation\Providers\ConsoleSupportServiceProvider::class,
        Illuminate\Queue\QueueServiceProvider::class,
        Illuminate\Redis\RedisServiceProvider::class,
    ]],
    'cache' => ['default' => 'array', 'stores' => ['array' => ['driver' => 'array']]],
    'database' => ['redis' => ['client' => 'phpredis', 'default' => [
        'host' => $redis['host'], 'port' => $redis['port'], 'database' => substr($redis['path'], 1),
    ]]],
    'logging' => ['default' => 'stderr', 'channels' => ['stderr' => ['driver' => 'errorlog']]],
    'queue' => ['default' => 'redis', 'failed' => ['driver' => 'null'], 'connections' => ['redis' => [
        'driver' => 'redis', 'connection' => 'default', 'queue' => 'default', 'retry_after' => 90,
    ]]],
];
