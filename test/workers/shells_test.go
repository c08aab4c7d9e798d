package workers

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// shellWays are the starts through a shell.
var shellWays = []way{
	{name: "`sh -c 'node app'`", programs: []string{"node", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "node app.js")},
	// Some shells exec the last command, and none this one.
	{name: "`sh -c 'node app; exit $?'`", programs: []string{"node", "sh"}, status: 7,
		prepare: app(env{"STATUS": "7"}, nil, "sh", "-c", "node app.js; exit $?")},
	{name: "bash with `trap 'kill $c' TERM; wait $c`", programs: []string{"node", "bash"}, status: 143,
		prepare: app(nil, files{"start.sh": trapAndForward}, "bash", "start.sh")},
	{name: "bash with a trap that cleans up in the background", programs: []string{"node", "bash"}, status: 5, uncounted: true,
		prepare: app(nil, files{"start.sh": trapAndCleanUp, "clean-up.sh": cleanUp}, "bash", "start.sh"), kept: noneSignalled},
	{name: "bash with a trap for EXIT", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "trap 'rm -f pid' EXIT\nnode app.js\nexit $?\n"}, "bash", "start.sh")},
	{name: "`sh -c 'node app | tee log'`", programs: []string{"node", "sh", "tee"}, status: 7,
		prepare: app(env{"STATUS": "7", "CHATTY": "1"}, nil, "sh", "-c", "node app.js | tee log")},
	{name: "`timeout 300 sh -c 'node app; exit $?'`", programs: []string{"node", "sh", "timeout"}, status: 143,
		prepare: app(nil, nil, "timeout", "300", "sh", "-c", "node app.js; exit $?")},
	{name: "INT to a bash with a trap for TERM", programs: []string{"node", "bash"}, signal: syscall.SIGINT, status: 143,
		prepare: app(nil, files{"start.sh": trapAndForward}, "bash", "start.sh")},
	{name: "`while :; do node app; done`", programs: []string{"node", "bash"},
		prepare: app(nil, files{"start.sh": "while :; do node app.js; done\n"}, "bash", "start.sh")},
}

const trapAndForward = `
node app.js & c=$!
trap 'kill $c' TERM
wait $c
exit
`

const trapAndCleanUp = `
trap 'bash clean-up.sh & exit 5' TERM
echo "begin $EPOCHREALTIME" >>"$RECORD"
sleep 3600 &
wait
`

// cleanUp is the job of that trap, and not to be signalled.
const cleanUp = `
trap 'echo "signalled SIGTERM $EPOCHREALTIME" >>"$RECORD"' TERM
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
`

// noneSignalled reports whether no handler ran.
func noneSignalled(_ *testing.T, s *scene) bool { return s.count("signalled") == 0 }

// trapWays are the starts through a script whose trap for TERM can't run while the shell
// waits for the command in its foreground: the commonest fault of an entrypoint.
var trapWays = slices.Concat(
	trapWay("bash", "bash"),
	trapWay("dash", "dash"),
	trapWay("busybox sh", "busybox", "sh"),
)

// trapWay is such a script of a shell's: as the worker and behind a `sh -c`, around an
// application that handles TERM and around a job that TERM would end.
func trapWay(shell string, command ...string) []way {
	programs := []string{"node", "sh", "bash", command[0]}
	script := append(slices.Clone(command), "start.sh")
	behind := []string{"sh", "-c", shell + " start.sh; exit $?"}
	application := files{"start.sh": trapAndWait + "node app.js\n"}
	job := files{"start.sh": trapAndWait + "bash job.sh\n", "job.sh": plainJob}
	return []way{
		{name: "`" + shell + " start.sh`: `trap cleanup TERM; node app`", programs: programs, status: 7,
			prepare: app(env{"STATUS": "7"}, application, script...), kept: cleanedUp},
		{name: "`sh -c '" + shell + " start.sh; exit $?'`: `trap cleanup TERM; node app`", programs: programs, status: 7,
			prepare: app(env{"STATUS": "7"}, application, behind...), kept: cleanedUp},
		{name: "`" + shell + " start.sh`: `trap cleanup TERM; bash job.sh`", programs: programs, uncounted: true, tells: 1,
			prepare: app(nil, job, script...), kept: cleanedUp},
		{name: "`sh -c '" + shell + " start.sh; exit $?'`: `trap cleanup TERM; bash job.sh`", programs: programs, uncounted: true, tells: 2,
			prepare: app(nil, job, behind...), kept: cleanedUp},
	}
}

// trapAndWait is where the command in the foreground follows.
const trapAndWait = `
cleanup() { echo clean >>cleaned; }
trap cleanup TERM
`

// plainJob has no handler and would be lost by the signal, as a pg_dump is.
const plainJob = `
echo "begin $EPOCHREALTIME" >>"$RECORD"
sleep "$JOB"
echo "done $EPOCHREALTIME" >>"$RECORD"
`

// cleanedUp reports whether the trap ran, once: it could when the command had ended. Where
// that has not ended the init hangs, and its job is not lost.
func cleanedUp(t *testing.T, s *scene) bool {
	t.Helper()
	if s.init.Running() {
		return true
	}
	cleaned, err := os.ReadFile(filepath.Join(s.dir, "cleaned"))
	return err == nil && string(cleaned) == "clean\n"
}

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
