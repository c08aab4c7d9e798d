package test

// wrapperWays are the starts by a program of the user's own that exits on TERM while its
// application works on, or ends the group that it gave it.
var wrapperWays = []way{
	{name: "Python: `sys.exit` on TERM, `Popen(['node', 'app']).wait()`", programs: []string{"node", "python3"},
		prepare: debian(app(nil, files{"run.py": exitingPython}, "python3", "run.py"))},
	{name: "node: `process.exit` on TERM, `spawn('node', ['app'])`", programs: []string{"node"},
		prepare: app(nil, files{"run.js": exitingNode}, "node", "run.js")},
	{name: "ruby: `exit` on TERM, `Process.wait spawn('node', 'app')`", programs: []string{"node", "ruby"},
		prepare: app(nil, files{"run.rb": exitingRuby}, "ruby", "run.rb")},
	// rake aborts: its sh ends with an exception.
	{name: "`rake start`: `sh 'node app'`", programs: []string{"node", "rake"}, status: 1,
		prepare: app(nil, files{"Rakefile": "task(:start) { sh 'node app.js' }\n"}, "rake", "start")},
	{name: "Python: `Popen(…, shell=True, start_new_session=True)`, `killpg`", programs: []string{"node", "python3"}, tells: 1,
		prepare: debian(app(nil, files{"run.py": killpgPython("node app.js; exit $?")}, "python3", "run.py"))},
	{name: "Python: `Popen('sh start.sh', shell=True, start_new_session=True)`, `killpg`", programs: []string{"node", "python3"}, tells: 1,
		prepare: debian(app(nil, files{"run.py": killpgPython("sh start.sh; exit $?"), "start.sh": "node app.js\n"}, "python3", "run.py"))},
}

const exitingPython = `
import signal, subprocess, sys

signal.signal(signal.SIGTERM, lambda *_: sys.exit())
sys.exit(subprocess.Popen(["node", "app.js"]).wait())
`

const exitingNode = `
const { spawn } = require('node:child_process');
process.on('SIGTERM', () => process.exit());
spawn('node', ['app.js'], { stdio: 'inherit' }).on('exit', (code) => process.exit(code));
`

const exitingRuby = `
trap("TERM") { exit }
Process.wait spawn("node", "app.js")
exit $?.exitstatus
`

// killpgPython leaves when its shell has died, and the application works on: it has the
// signal.
func killpgPython(command string) string {
	return `
import os, signal, subprocess, sys

run = subprocess.Popen("` + command + `", shell=True, start_new_session=True)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(run.pid, signal.SIGTERM))
run.wait()
`
}
