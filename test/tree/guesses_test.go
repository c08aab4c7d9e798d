package tree

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What drainit can only guess makes it wait, and never signal sooner: each of these starts is right under an
// init that knows less.

// A manager may ask what is below it to stop by anything: another signal, a file, a line on its input. What
// has run in the stop may so have been asked, though it has no handler for TERM.
func TestStopByOtherMeansThanTERM(t *testing.T) {
	t.Parallel()
	for _, s := range otherMeans {
		s.keepsOnce(t)
	}
}

// runner starts a job below a shell. Asked to stop, it ends the shell first, and then the job.
const runner = `
import os, signal, subprocess, sys, time
shell = subprocess.Popen(["sh", "-c", "app 1; exit $?"], stdin=subprocess.DEVNULL)
def stop(*_):
    shell.terminate()
    shell.wait()
    time.sleep(1.5)
    job = open("1.pid").read()
    os.kill(int(job), signal.SIGTERM)
    while os.path.exists("/proc/" + job):
        time.sleep(0.05)
    sys.exit()
`

// askedBySignal is the runner, asked by a signal; the manager above it passes that on and waits for it.
func askedBySignal(name, sig, manager string) start {
	return start{name: name, runs: "bash", uses: "python3", files: files{"runner.py": runner + `
signal.signal(signal.SIG` + sig + `, stop)
while True:
    signal.pause()`}, script: manager}
}

var otherMeans = []start{
	askedBySignal("INT by a trap", "INT",
		`trap 'kill -INT $p; wait $p; wait $p' TERM; python3 runner.py & p=$!; wait $p; wait $p`),
	askedBySignal("QUIT by a trap", "QUIT",
		`trap 'kill -QUIT $p; wait $p; wait $p' TERM; python3 runner.py & p=$!; wait $p; wait $p`),
	askedBySignal("USR1 by a trap", "USR1",
		`trap 'kill -USR1 $p; wait $p; wait $p' TERM; python3 runner.py & p=$!; wait $p; wait $p`),
	askedBySignal("HUP by a trap", "HUP",
		`trap 'kill -HUP $p; wait $p; wait $p' TERM; python3 runner.py & p=$!; wait $p; wait $p`),
	askedBySignal("INT by dumb-init -r 15:2", "INT", `exec dumb-init -c -r 15:2 python3 runner.py`),
	askedBySignal("INT by supervisord", "INT", "cat >supervisord.conf <<'END'"+supervised+`
command=python3 runner.py
stopsignal=INT
END
exec supervisord -c supervisord.conf`),
	{name: "a file", runs: "bash", uses: "python3", files: files{"runner.py": runner + `
while not os.path.exists("stop"):
    time.sleep(0.2)
stop()`}, script: `trap 'touch stop; wait $p; wait $p' TERM; python3 runner.py & p=$!; wait $p; wait $p`},
	{name: "a file, and the manager leaves", runs: "bash", uses: "python3",
		files: files{"runner.py": runner + `
while not os.path.exists("stop"):
    time.sleep(0.2)
stop()`}, script: `trap 'touch stop; sleep 1; exit' TERM; python3 runner.py & wait; wait`},
	{name: "a line", runs: "python3", files: files{"runner.py": runner + `
sys.stdin.readline()
stop()`}, script: `
import signal, subprocess, sys
runner = subprocess.Popen(["python3", "runner.py"], stdin=subprocess.PIPE, text=True)
def stop(*_):
    runner.stdin.write("stop\n")
    runner.stdin.flush()
    runner.wait()
    sys.exit()
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "a shell that looks for a file", runs: "bash", script: `
		trap 'touch stop; wait $p; wait $p' TERM
		bash -c '
			bash -c "app 1; exit \$?" & s=$!
			until test -e stop; do sleep 1; done
			kill $s; wait $s; sleep 1.5
			kill $(cat 1.pid); while kill -0 $(cat 1.pid); do sleep .1; done
		' & p=$!
		wait $p; wait $p`},
	{name: "a shell with a trap for INT", runs: "bash", script: `
		trap 'kill -INT $p; wait $p; wait $p' TERM
		env --default-signal=INT bash -c '
			trap "kill \$s; wait \$s; sleep 1.5
				kill \$(cat 1.pid); while kill -0 \$(cat 1.pid); do sleep .1; done; exit" INT
			bash -c "app 1; exit \$?" & s=$!
			wait; wait
		' & p=$!
		wait $p; wait $p`},
}

// A worker may need to the end what was started before it: the daemon is signalled when it has gone, or
// shortly before the kill.
func TestDaemonServesToTheEnd(t *testing.T) {
	t.Parallel()
	for _, s := range servants {
		s.keepsOnce(t)
	}
}

// needsDaemon is a worker that drains for longer than until the last call, with a daemon that must live all
// that time.
const needsDaemon = `
open my $f, "<", "daemon.pid"; my $daemon = <$f>; chomp $daemon;
open my $record, ">>", "record";
sub note { syswrite $record, sprintf "%d 1 %d %s\n", time, $$, "@_" }
$SIG{TERM} = sub {
	note("got");
	for (1 .. 98) { kill 0 => $daemon or exit 1; select undef, undef, undef, 0.1 }
	note("drained");
	exit;
};
note("ready job");
sleep 1 while 1;`

var servants = []start{
	{name: "with a handler", runs: "sh", uses: "perl", files: files{"worker.pl": needsDaemon}, script: `
		(setsid perl -e '$SIG{TERM} = sub { exit }; sleep 1 while 1' & echo $! >daemon.pid)
		exec perl worker.pl # app 1`},
	{name: "without", runs: "sh", uses: "perl", files: files{"worker.pl": needsDaemon}, script: `
		(setsid perl -e 'sleep 1 while 1' & echo $! >daemon.pid)
		exec perl worker.pl # app 1`},
	{name: "below a shell", runs: "sh", uses: "perl", files: files{"worker.pl": needsDaemon}, script: `
		(setsid perl -e '$SIG{TERM} = sub { exit }; sleep 1 while 1' & echo $! >daemon.pid)
		perl worker.pl # app 1
		exit $?`},
}

// What never ends and does nothing in the foreground of a script ends by the signal, so that the trap of the
// script runs: through a subshell and below a pipe, too.
func TestWhatNeverEndsHoldsUpNoTrap(t *testing.T) {
	t.Parallel()
	for _, s := range idlers {
		s.runs, s.inTime, s.after = "bash", "idle", "test -e trapped"
		s.script = "trap 'touch trapped' TERM\n" + s.script
		s.keepsOnce(t)
	}
}

var idlers = []start{
	{name: "sleep infinity", script: `app 1 & sleep infinity`},
	{name: "busybox", uses: "busybox", script: `app 1 & busybox tail -f /dev/null`},
	{name: "a subshell", script: `( app 1 & sleep infinity )`},
	{name: "another shell", script: `app 1 & sh -c 'sleep infinity; true'`},
	{name: "sleep below a pipe", script: `sleep infinity | app 1`},
	{name: "tail below a pipe", script: `touch console; tail -f console | app 1`},
	{name: "inotifywait", uses: "inotifywait", script: `app 1 & inotifywait -qqm .`},
	{name: "inotifywait in a loop", uses: "inotifywait",
		script: `app 1 & inotifywait -qm . | while read -r line; do :; done`},
}

// A tail --pid in the foreground ends with the job that it waits for: no trap can signal that before.
func TestTailThatWaitsForAJob(t *testing.T) {
	t.Parallel()
	for _, s := range tails {
		s.runs, s.inTime, s.after = "bash", "idle, busy", "test -e trapped"
		s.script = "trap 'kill $p; wait $p; touch trapped' TERM\n" + s.script
		s.keepsOnce(t)
	}
}

var tails = []start{
	{name: "a job", script: `touch log; app 1 & p=$!; tail --pid=$p -f log`},
	{name: "a job below a shell", script: `touch log; sh -c 'app 1; exit $?' & p=$!; tail --pid $p -f log`},
	{name: "a job beside it", script: `touch log; app 1 & p=$!; app 2 & tail --pid=$! -f log`},
}

// What ends by itself is the script's own: a copy goes on, and what follows a sleep is not begun.
func TestWhatEndsIsLeftToTheScript(t *testing.T) {
	t.Parallel()
	for _, s := range finite {
		s.runs, s.script = "bash", "trap 'touch trapped' TERM\n"+s.script
		s.keepsOnce(t)
	}
}

var finite = []start{
	{name: "a copy", killed: false, after: "test $(wc -c <copy) = 40", script: `
		mkfifo fifo
		perl -e '$| = 1; for (1 .. 10) { print "abc\n"; select undef, undef, undef, .4 }' >fifo &
		echo 0 0 0 ready script >>record
		cat <fifo >copy`},
	{name: "a sleep before a backup", killed: true, after: "! test -e backup", script: `
		echo 0 0 0 ready script >>record
		sleep 3600; touch backup`},
	{name: "a sleep in a loop", killed: true, after: "! test -e backup", script: `
		echo 0 0 0 ready script >>record
		while [ -z "$stop" ]; do sleep 3600; touch backup; done`},
	{name: "a sleep in a loop beside a job", killed: true, script: `
		app 1 & while :; do sleep 3600; done`, inTime: "idle, busy"},
	{name: "a sleep that ends the script", after: "test -e trapped", script: `
		exec bash -c 'trap "touch trapped" TERM; app 1 & sleep 3600'`, inTime: "idle"},
	{name: "the same beside a worker that has left", after: "test -e trapped", script: `
		bash -c 'trap "touch trapped" TERM; app 1 & sleep 14' &
		exec perl -e '$SIG{TERM} = sub { select undef, undef, undef, 4; exit }; sleep 1 while 1'`,
		inTime: "idle"},
}

// A loop that reads what never ends is no reader to wait for: neither is the job that it has started.
func TestLoopThatReadsForEver(t *testing.T) {
	t.Parallel()
	for _, s := range loops {
		s.keepsOnce(t)
	}
}

var loops = []start{
	{name: "inotifywait", runs: "bash", uses: "inotifywait", inTime: "idle, busy", script: `
		touch begin
		inotifywait -qm -e attrib . | while read -r line; do app 1; done &
		sleep .5; touch begin; wait`},
	{name: "a program", runs: "bash", inTime: "idle", script: `
		perl -e '$| = 1; print "line\n"; sleep 1 while 1' | while read -r line; do app 1; done`},
	{name: "a program that wakes up", runs: "bash", inTime: "idle", script: `
		perl -e '$| = 1; print "line\n"; select undef, undef, undef, .02 while 1' |
			while read -r line; do app 1; done`},
}

// A script in the foreground of a trap may signal its jobs itself, when one of them has ended.
func TestScriptThatSignalsItsOwn(t *testing.T) {
	t.Parallel()
	for _, s := range ownJobs {
		s.keepsOnce(t)
	}
}

var ownJobs = []start{
	{name: "wait -n", runs: "bash", inTime: "idle", files: files{"inner": `
		app 1 & app 2 & wait -n; kill $(jobs -p); wait`}, script: `
		trap 'touch trapped' TERM
		bash inner`, after: "test -e trapped"},
	{name: "wait -n, later", runs: "bash", inTime: "idle", files: files{"inner": `
		app 1 & app 2 & wait -n; sleep 1; kill $(jobs -p); wait`}, script: `
		trap 'touch trapped' TERM
		bash inner`, after: "test -e trapped"},
}

// A manager may adopt what a process below it leaves (PR_SET_CHILD_SUBREAPER): that is an orphan, too.
func TestOrphanOfASubreaper(t *testing.T) {
	t.Parallel()
	for _, s := range subreapers {
		s.inTime = "idle"
		s.keepsOnce(t)
	}
}

var subreapers = []start{
	{name: "a manager that waits for all", runs: "python3", script: adopts + `
def stop(*_):
    shell.terminate()
    while True:
        try:
            os.wait()
        except ChildProcessError:
            sys.exit()
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "tini -s", runs: "bash", uses: "tini", script: `exec tini -s -- sh -c 'app 1; exit $?'`},
}

const adopts = `
import ctypes, os, signal, subprocess, sys
ctypes.CDLL(None).prctl(36, 1)
shell = subprocess.Popen(["sh", "-c", "app 1; exit $?"])
`

// A manager that looks again and again whether its services have gone is not between two steps of a stop.
func TestRunnersThatPoll(t *testing.T) {
	t.Parallel()
	for _, s := range pollingRunners {
		s.inTime = "idle"
		s.keepsOnce(t)
	}
}

// twoServices starts two services, one of them by a shell, and signals both.
const twoServices = `
import asyncio, os, signal, subprocess, sys, time
a = subprocess.Popen(["app", "1"])
b = subprocess.Popen("X=1; app 2; exit $?", shell=True)
def terminate():
    for p in a, b:
        p.terminate()
`

var pollingRunners = []start{
	{name: "Python's wait with a timeout", runs: "python3", script: twoServices + `
def stop(*_):
    terminate()
    for p in a, b:
        p.wait(timeout=60)
    sys.exit()
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "asyncio", runs: "python3", script: twoServices + `
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    terminate()
    while a.poll() is None or b.poll() is None:
        await asyncio.sleep(0.2)
asyncio.run(main())`},
	{name: "Node", runs: "node", script: `
const { spawn } = require("child_process");
const how = { shell: true, stdio: "inherit" };
const all = [spawn("app 1", how), spawn("app 2; exit $?", how)];
process.on("SIGTERM", () => {
	for (const p of all) p.kill();
	setInterval(() => all.every(p => p.exitCode !== null || p.signalCode !== null) && process.exit(), 200);
});
setInterval(() => {}, 60000);`},
	{name: "bash", runs: "bash", script: `
		trap 'kill $a $b; while kill -0 $a || kill -0 $b; do sleep .2; done; exit' TERM
		app 1 & a=$!; sh -c 'app 2; exit $?' & b=$!
		while :; do wait; done`},
}

// What signals more than its child, or signals that twice, is left alone while a process below it drains.
func TestWhatSpreadsASignalIsLeftAlone(t *testing.T) {
	t.Parallel()
	for _, s := range spreading {
		s.inTime = "idle, busy"
		s.keepsOnce(t)
	}
}

var spreading = []start{
	{name: "dumb-init above a script", runs: "bash", uses: "dumb-init",
		files: files{"start.sh": `app 1; exit $?`}, script: `exec dumb-init -- bash start.sh`},
	{name: "dumb-init above two jobs", runs: "bash", uses: "dumb-init",
		files: files{"start.sh": `app 1 & app 2 & wait`}, script: `exec dumb-init -- bash start.sh`},
	{name: "dumb-init below a script", runs: "bash", uses: "dumb-init",
		files: files{"start.sh": `app 1; exit $?`}, script: `dumb-init -- bash start.sh; exit $?`},
	{name: "timeout above a trap", runs: "bash", uses: "timeout",
		script: `exec timeout 300 bash -c 'trap "kill \$p; wait \$p" TERM; app 1 & p=$!; wait $p; wait $p'`},
	{name: "timeout above a script", runs: "bash", uses: "timeout",
		script: `timeout 300 sh -c 'app 1; exit $?'; exit $?`},
	{name: "su, which kills after two seconds", runs: "bash", uses: "su", env: "WORK=4000",
		script: `exec su root -c "PATH=$PATH WORK=4000 RHYTHM=$RHYTHM app 1; exit"`},
	{name: "runuser", runs: "bash", uses: "runuser", env: "WORK=4000",
		script: `exec runuser -u root -- app 1`},
	{name: "runuser with a terminal", runs: "bash", uses: "runuser", env: "WORK=4000",
		script: `exec runuser -u root --pty -- app 1`},
	{name: "script", runs: "bash", uses: "script", script: `exec script -qec 'app 1' log`},
	{name: "nothing handles it below timeout", runs: "bash", uses: "timeout",
		script: `app 1 & timeout 300 sh -c 'sleep 300; exit $?'; wait`},
}

// A signal that the user has put in place of TERM is the application's: what would send it TERM is left
// alone.
func TestWhatPassesOnTERMInPlaceOfAnother(t *testing.T) {
	t.Parallel()
	for _, s := range quitters {
		s.inTime, s.flags = "idle, busy", "--rewrite=TERM:QUIT"
		s.files = files{"server.pl": drainsOnQUIT, "Makefile": "run:\n\tperl server.pl\n",
			"package.json": `{"scripts": {"start": "perl server.pl"}}`}
		s.script += " # app 1"
		s.keepsOnce(t)
	}
}

// drainsOnQUIT is a server as nginx is: QUIT drains it, and TERM ends it at once.
const drainsOnQUIT = `
use Time::HiRes "time";
open my $record, ">>", "record";
sub note { syswrite $record, sprintf "%f 1 %d %s\n", time, $$, "@_" }
my $quit = 0;
sub drain { my $end = time + 2; select undef, undef, undef, 0.1 while time < $end; note("drained") }
$SIG{QUIT} = sub { note("got"); exit if $quit++; drain(); exit };
$SIG{TERM} = sub { note("got"); exit };
note("ready job");
select undef, undef, undef, $ENV{RHYTHM} eq "busy" ? 0.02 : 1000 while 1;`

var quitters = []start{
	{name: "make", runs: "bash", uses: "make", script: `exec make -s run`},
	{name: "npm", runs: "bash", uses: "npm", script: `exec npm start`},
	{name: "a trap", runs: "bash",
		script: `trap 'kill -TERM $c; wait $c' TERM; perl server.pl & c=$!; wait $c; wait $c`},
	{name: "a script", runs: "bash", script: `perl server.pl; exit $?`},
	{name: "a trap below a script", runs: "bash",
		script: `bash -c 'trap "kill \$c; wait \$c" TERM; perl server.pl & c=$!; wait $c; wait $c'; exit $?`},
}

// What is known of a program shows what it can't have signalled, and that a second signal does no harm.
func TestProgramsThatAreKnown(t *testing.T) {
	t.Parallel()
	for _, s := range knownPrograms {
		s.inTime = "idle, busy"
		s.keepsOnce(t)
	}
}

var knownPrograms = []start{
	{name: "nginx that a shell became, beside a server", runs: "bash", uses: "nginx",
		flags: "--rewrite=TERM:QUIT", files: files{"server.pl": drainsOnQUIT + "\n# app 1", "nginx.conf": `
			daemon off; pid nginx.pid; error_log stderr; events {}
			http { access_log off; server { listen unix:nginx.sock; } }`}, script: `
		perl -e '$SIG{INT} = sub { exit }; do "./server.pl"' &
		exec nginx -p . -c nginx.conf -e stderr`},
	{name: "runsvdir below a trap that takes its time", runs: "bash", uses: "runsvdir runsv", script: `
		mkdir -p services/job
		printf '#!/bin/sh\ncd ../..\nexec app 1\n' >services/job/run
		chmod +x services/job/run
		trap 'sleep 6; exit' TERM
		runsvdir services & wait`},
}

// A signal that does nothing to a process, or ends it, is replaced by TERM if that is handled.
func TestSignalThatMeansNothingToAProcess(t *testing.T) {
	t.Parallel()
	for _, s := range replaced {
		s.inTime = "idle, busy"
		s.keepsOnce(t)
	}
}

var replaced = []start{
	{name: "INT to a worker that ignores it", runs: "bash", signal: unix.SIGINT,
		script: `trap '' INT; exec app 1`},
	{name: "INT to a worker that would die of it", runs: "bash", signal: unix.SIGINT, script: `exec app 1`},
	{name: "QUIT to a script with a trap for TERM", runs: "bash", signal: unix.SIGQUIT,
		script: `trap 'kill $p; wait $p; exit' TERM; app 1 & p=$!; wait $p; wait $p`},
	{name: "QUIT to a server in Go that drains on it", runs: "bash", uses: "go", signal: unix.SIGQUIT,
		files: files{"go.mod": "module server", "main.go": drainsOnQUITInGo}, script: `
			export HOME=$PWD GOFLAGS=-buildvcs=false GOTOOLCHAIN=local
			go build -o server . && exec ./server # app 1`},
}

// drainsOnQUITInGo is a program as GitLab Runner is: QUIT drains it, and TERM ends it at once.
const drainsOnQUITInGo = `
package main

import ("fmt"; "os"; "os/signal"; "syscall"; "time")

func main() {
	record, _ := os.OpenFile("record", os.O_APPEND|os.O_WRONLY, 0)
	note := func(what string) { fmt.Fprintln(record, time.Now().Unix(), 1, os.Getpid(), what) }
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGTERM)
	note("ready job")
	sig := <-signals
	note("got")
	if sig == syscall.SIGQUIT {
		time.Sleep(time.Second)
		note("drained")
	}
}`

// What drainit cannot tell apart is in the page of limits (docs/signals.md), with what to write instead.
func TestRemediesOfTheLimits(t *testing.T) {
	t.Parallel()
	for _, s := range remedies {
		s.inTime = "idle, busy"
		s.keepsOnce(t)
	}
}

var remedies = []start{
	{name: "exec below a manager in Node", runs: "node", script: `
const { spawn } = require("child_process");
const all = ["app 1", "app 2"].map((app) => spawn("X=1; exec " + app, { shell: true, stdio: "inherit" }));
let left = all.length;
for (const p of all) p.on("exit", () => { if (!--left) process.exit(); });
process.on("SIGTERM", () => all.forEach((p) => p.kill()));`},
	{name: "exec below a manager in Python", runs: "python3", script: `
import signal, subprocess, sys
all = [subprocess.Popen("X=1; exec app %d" % n, shell=True) for n in (1, 2)] # app 1, app 2
def stop(*_):
    for p in all:
        p.terminate()
    for p in all:
        p.wait(timeout=60)
    sys.exit()
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "exec below wait -n", runs: "bash", script: `
		trap 'kill $a $b; wait; exit' TERM
		app 1 & a=$!; sh -c 'X=1; exec app 2' & b=$!
		wait -n; wait`},
	{name: "exec below supervisord", runs: "bash", uses: "supervisord",
		files: files{"start.sh": "X=1; exec app 1",
			"supervisord.conf": supervised + "command=sh start.sh\n"},
		script: `exec supervisord -c supervisord.conf`},
	{name: "stopasgroup of supervisord", runs: "bash", uses: "supervisord",
		files: files{"start.sh": "app 1; exit $?", "supervisord.conf": supervised +
			"command=sh start.sh\nstopasgroup=true\n"}, script: `exec supervisord -c supervisord.conf`},
	{name: "INT as TERM to Node", runs: "bash", uses: "node", signal: unix.SIGINT,
		flags: "--rewrite=INT:TERM", files: files{"job.js": `
			const note = (what) => require("fs").appendFileSync("record",
				[Date.now() / 1000, 1, process.pid, what].join(" ") + "\n");
			const end = () => { note("drained"); process.exit(); };
			process.on("SIGTERM", () => { note("got"); setTimeout(end, 500); });
			setInterval(() => {}, process.env.RHYTHM === "busy" ? 20 : 1 << 30);
			note("ready job");`}, script: `node job.js; exit $? # app 1`},
	{name: "stdbuf for unbuffer", runs: "bash", script: `exec stdbuf -oL app 1`},
	{name: "a trap in the script in the foreground", runs: "bash",
		files: files{"inner": `trap 'kill $(jobs -p); wait; touch after; exit' TERM
			app 1 & app 2 & wait; wait`},
		script: "trap 'touch trapped' TERM\nbash inner", after: "test -e trapped -a -e after"},
}

// supervised is a service of supervisord's.
const supervised = `
[supervisord]
nodaemon=true
user=root
logfile=/dev/null
logfile_maxbytes=0
pidfile=supervisord.pid
[program:job]
stopwaitsecs=30
`
