# An entrypoint with two daemons, of which the last one is the worker.
sed "s/PORT/$PORT/" nginx.conf.in >nginx.conf
/usr/sbin/php-fpm8.2 -p . -y fpm.conf -D
exec nginx -p . -c nginx.conf -e /dev/stderr -g 'daemon off;'
