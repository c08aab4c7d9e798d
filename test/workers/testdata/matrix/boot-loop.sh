pm2 start app.js -i 2
forward_signal() {
	kill -INT $(pgrep PM2)
	exit 0
}
trap forward_signal SIGINT
while true; do
	sleep 1
done
