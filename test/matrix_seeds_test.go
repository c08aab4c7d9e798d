package test

import (
	"syscall"
	"testing"
)

// seedWays are starts that articles on graceful shutdown advise, or warn of.
var seedWays = []way{
	{name: "INT to `npx tsx app` in a script", npm: true, programs: []string{"npx"}, status: 7, begin: prefer, signal: syscall.SIGINT,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "npx tsx app.ts\n"}, "bash", "start.sh")},
	{name: "`exec tsx app` in a script", npm: true, programs: []string{"bash"}, begin: prefer,
		prepare: app(nil, files{"start.sh": "exec tsx app.ts\n"}, "bash", "start.sh")},
	{name: "INT to `pm2-runtime start`", npm: true, signal: syscall.SIGINT,
		prepare: pm2(nil, "pm2-runtime", "start", "app.js")},
	{name: "INT to `npx pm2-runtime start`", npm: true, programs: []string{"npx"}, signal: syscall.SIGINT,
		prepare: pm2(nil, "npx", "pm2-runtime", "start", "app.js")},
	{name: "`pm2-runtime start` with `wait_ready`, `listen_timeout`", npm: true,
		prepare: hastyPM2(env{"READY": "1"}, ecosystem, "pm2-runtime", "start", "ecosystem.config.js")},
	{name: "`node app & disown -h %1` in a script, `--forking`", programs: []string{"node", "bash"}, flags: []string{"--forking"},
		prepare: app(nil, files{"start.sh": "node app.js &\ndisown -h %1\n"}, "bash", "start.sh")},
	{name: "`node app & disown; sleep infinity` in a script", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "node app.js & disown\nsleep infinity\n"}, "bash", "start.sh")},
	// The server is signalled when the worker has gone. It has nothing to do then.
	{name: "`node server & exec node app` in a script", programs: []string{"node", "bash"}, status: 7, workers: 2, inTurn: true, tells: 2,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "JOB=0 node app.js &\nexec node app.js\n"}, "bash", "start.sh")},
	{name: "`python3 server.py & exec node app` in a script", programs: []string{"node", "bash", "python3"}, status: 7, workers: 2, inTurn: true, tells: 2,
		prepare: withRecord(app(env{"STATUS": "7"}, files{"start.sh": "python3 server.py &\nexec node app.js\n", "server.py": busyServer}, "bash", "start.sh"))},
}

// busyServer looks for work all the time.
const busyServer = `
import signal, sys, time
from record import record

def signalled(*_):
    record("signalled", "SIGTERM")
    sys.exit()

signal.signal(signal.SIGTERM, signalled)
record("begin")
record("done")
while True:
    time.sleep(0.05)
`

// withRecord prepares a start with a program in Python that writes to the record.
func withRecord(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		s.python(t)
		return prepare(t, s)
	}
}

// ecosystem is PM2's own way to set what PM2_KILL_TIMEOUT does, and to wait for the
// application to say that it is ready.
var ecosystem = files{"ecosystem.config.js": `
module.exports = { apps: [{ name: 'app', script: 'app.js', exec_mode: 'fork',
  kill_timeout: 20000, wait_ready: true, listen_timeout: 10000 }] };
`}
