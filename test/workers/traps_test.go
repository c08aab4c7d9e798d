package workers

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// correctTraps are the starts whose script or wrapper passes the signal on by itself, so that
// drainit must signal that alone. A second signal ends the application at once, and its job is
// lost. Where the program dies of the signal after it has passed it on, an init that ends with
// its child loses the job too.
var correctTraps = onlyWorkerTold(slices.Concat(
	[]way{
		oneLine(2),
		oneLine(3),
		oneLine(4),
		waits("bash: `node app & a=$!`, `node app & b=$!`, `trap 'kill $a $b' TERM`, `wait; wait`", 2, killBoth),
		waits("bash: `f() { node app & node app & wait; }`, `trap 'kill $(jobs -p)' TERM`, `f; wait`", 2, `
trap 'kill $(jobs -p)' TERM
f() { node app.js & node app.js & wait; }
f; wait
`),
		waits("bash: `trap 'kill $(jobs -p)' TERM`, `if true; then node app & node app & fi`, `wait; wait`", 2, `
trap 'kill $(jobs -p)' TERM
if true; then node app.js & node app.js & fi
wait; wait
`),
		waits("bash: `trap 'kill $(jobs -p)' TERM`, `for i in 1 2; do node app & done`, `wait; wait`", 2, `
trap 'kill $(jobs -p)' TERM
for i in 1 2; do node app.js & done
wait; wait
`),
		waits("bash: `(trap 'kill $(jobs -p)' TERM; node app & node app & wait; wait) & s=$!`, `trap 'kill $s' TERM`, `wait $s; wait $s`", 2, `
(trap 'kill $(jobs -p)' TERM; node app.js & node app.js & wait; wait) & s=$!
trap 'kill $s' TERM
wait $s; wait $s
`),
		waits("bash: `trap 'kill $(jobs -p)' TERM`, `node app | cat & wait; wait`", 1, `
trap 'kill $(jobs -p)' TERM
node app.js | cat & wait; wait
`),
		waits("bash: `trap 'kill $(jobs -p)' TERM`, `node app & node app &`, `while [ -n \"$(jobs -pr)\" ]; do wait -n; done`", 2, `
trap 'kill $(jobs -p)' TERM
node app.js & node app.js &
while [ -n "$(jobs -pr)" ]; do wait -n; done
`),
		dies("bash: `trap \"trap - TERM; kill -- -$$\" INT TERM EXIT`, `node app & wait`", killOwnGroup),
		waits("bash: `sleep 2.6 & s=$!`, `node app & c=$!`, `trap 'wait $s; kill $c' TERM`, `wait; wait`", 1, `
sleep 2.6 & s=$!
node app.js & c=$!
trap 'wait $s; kill $c' TERM
wait; wait
`),
		waits("bash: `node app & c=$!`, `trap 'sleep 1; kill $c' TERM`, `wait $c; wait $c`", 1, `
node app.js & c=$!
trap 'sleep 1; kill $c' TERM
wait $c; wait $c
`),
	},
	watchLoop("bash", "bash"),
	watchLoop("dash", "dash"),
	watchLoop("busybox sh", "busybox", "sh"),
	[]way{
		dies("bash: `trap 'kill $p' EXIT`, `node app & p=$!; wait`", `
trap 'kill $p' EXIT
node app.js & p=$!; wait
`),
		dies("bash: `trap 'kill 0' EXIT`, `node app & p=$!; wait`", `
trap 'kill 0' EXIT
node app.js & p=$!; wait
`),
		signalExitNode,
		{name: "Python: `terminate()` of `Popen(['node', 'app'])` on TERM, then `SIG_DFL` and `os.kill(os.getpid(), SIGTERM)`", programs: []string{"node", "python3"}, status: 143,
			prepare: debian(app(once, files{"run.py": signalExitPython}, "python3", "run.py"))},
		pnpmExec,
		{name: "`env-cmd node app`", npm: true, status: 143,
			prepare: app(once, files{".env": "A=1\n"}, "env-cmd", "node", "app.js")},
		{name: "node: `await execa('node', ['app'])`", npm: true, status: 143,
			prepare: app(once, files{"run.mjs": "import { execa } from 'execa';\nawait execa('node', ['app.js'], { stdio: 'inherit' });\n"}, "node", "run.mjs")},
	},
	busy(
		oneLine(2),
		waits("bash: `node app & a=$!`, `node app & b=$!`, `trap 'kill $a $b' TERM`, `wait; wait`", 2, killBoth),
		dies("bash: `trap \"trap - TERM; kill -- -$$\" INT TERM EXIT`, `node app & wait`", killOwnGroup),
		signalExitNode,
		pnpmExec,
	),
))

// onlyWorkerTold are ways of which drainit signals the worker and nothing below it. Two signals
// that come at the same moment may be one to the application.
func onlyWorkerTold(ways []way) []way {
	for i := range ways {
		ways[i].tells = 1
	}
	return ways
}

// once is an application that is lost by a second signal, and onceThen7 one that has an exit
// status of its own too.
var (
	once      = env{"TWICE": "exit"}
	onceThen7 = env{"TWICE": "exit", "STATUS": "7"}
)

// waits is a bash whose script signals its jobs and waits for them. Its last wait gives 0.
func waits(name string, jobs int, script string) way {
	return way{name: name, programs: []string{"node", "bash"}, workers: jobs,
		prepare: app(once, files{"start.sh": script}, "bash", "start.sh")}
}

// dies is a bash whose script signals its job and then dies of the signal. The job is its
// only successor: the exit status is the job's.
func dies(name, script string) way {
	return way{name: name, programs: []string{"node", "bash"}, status: 7,
		prepare: app(onceThen7, files{"start.sh": script}, "bash", "start.sh")}
}

// oneLine is a bash that has its script in its arguments.
func oneLine(jobs int) way {
	script := func(app string) string {
		return `trap "kill \$(jobs -p)" TERM; ` + strings.Repeat(app+" & ", jobs) + "wait; wait"
	}
	return way{name: "`bash -c '" + script("node app") + "'`", programs: []string{"node", "bash"}, workers: jobs,
		prepare: app(once, nil, "bash", "-c", script("node app.js"))}
}

const killBoth = `
node app.js & a=$!
node app.js & b=$!
trap 'kill $a $b' TERM
wait; wait
`

const killOwnGroup = `
trap "trap - TERM; kill -- -$$" INT TERM EXIT
node app.js & wait
`

// watchLoop is a script that looks whether its job lives, each second or five times in one.
// The trap runs when the sleep in the foreground has ended.
func watchLoop(shell string, command ...string) []way {
	var ways []way
	for _, pause := range []string{"1", "0.2"} {
		loop := "while kill -0 $a 2>/dev/null; do sleep " + pause + "; done"
		ways = append(ways, way{
			name:     shell + ": `node app & a=$!`, `trap 'kill $a' TERM`, `" + loop + "`",
			programs: []string{"node", command[0]},
			leaves:   1500 * time.Millisecond,
			prepare: app(once, files{"start.sh": "node app.js & a=$!\ntrap 'kill $a' TERM\n" + loop + "\n"},
				append(slices.Clone(command), "start.sh")...),
		})
	}
	return ways
}

var signalExitNode = way{
	name:     "node: `c.kill('SIGTERM')` and `process.kill(process.pid, 'SIGTERM')` once on TERM, `c = spawn('node', ['app'])`",
	programs: []string{"node"},
	status:   143,
	prepare: app(once, files{"run.js": `
const { spawn } = require('node:child_process');
const c = spawn('node', ['app.js'], { stdio: 'inherit' });
process.once('SIGTERM', () => {
  c.kill('SIGTERM');
  process.kill(process.pid, 'SIGTERM');
});
`}, "node", "run.js"),
}

const signalExitPython = `
import os, signal, subprocess

c = subprocess.Popen(["node", "app.js"])

def signalled(*_):
    c.terminate()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)

signal.signal(signal.SIGTERM, signalled)
c.wait()
`

var pnpmExec = way{name: "`pnpm exec node app`", npm: true, status: 7,
	prepare: app(onceThen7, startScript("node app.js"), "pnpm", "exec", "node", "app.js")}

// busy are ways whose application runs all the time, so that it can't be proven untouched.
func busy(ways ...way) []way {
	for i, w := range ways {
		ways[i].name += ", busy"
		ways[i].prepare = func(t *testing.T, s *scene) []string {
			command := w.prepare(t, s)
			s.env = append(s.env, "TICK=20")
			return command
		}
	}
	return ways
}
