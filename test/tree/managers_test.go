package tree

import (
	"testing"

	"golang.org/x/sys/unix"
)

// What a manager signals by itself is signalled once, though a process between has gone, or the manager
// leaves.
func TestStopInStepsPastAShell(t *testing.T) {
	t.Parallel()
	for _, s := range farSteps {
		s.keepsOnce(t)
	}
}

// farSteps are managers that signal a process whose parent and whose parent's parent is a shell.
var farSteps = []start{
	{name: "a trap that kills by a pid file", runs: "bash", script: `
		trap 'kill $s; wait $s;
			kill $(cat 1.pid); while kill -0 $(cat 1.pid); do sleep .1; done; exit' TERM
		sh -c 'sh -c "app 1; exit \$?"; exit $?' & s=$!; wait $s`},
	{name: "a trap that pauses before it kills", runs: "bash", script: `
		trap 'kill $s; wait $s; sleep 2;
			kill $(cat 1.pid); while kill -0 $(cat 1.pid); do sleep .1; done; exit' TERM
		sh -c 'sh -c "app 1; exit \$?"; exit $?' & s=$!; wait $s`},
	{name: "a trap that kills by a pid file, and leaves", runs: "bash", script: `
		trap 'kill $s $(cat 1.pid); exit' TERM
		sh -c 'sh -c "app 1; exit \$?"; exit $?' & s=$!; wait $s`},
	{name: "terminate, wait, killpg", runs: "python3", script: `
import os, signal, subprocess, sys, time
def stop(*_):
    shell.terminate()
    shell.wait()
    os.killpg(shell.pid, signal.SIGTERM)
    while os.path.exists("/proc/" + open("1.pid").read()):
        time.sleep(0.1)
    sys.exit()
shell = subprocess.Popen(["sh", "-c", "sh -c 'app 1; exit $?'; exit $?"], start_new_session=True)
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "sigtimedwait each half second, then a stop in steps", runs: "python3", script: pollSteps + `
while signal.sigtimedwait([signal.SIGTERM], 0) is None:
    time.sleep(0.5)
stop()`},
	{name: "sigpending each half second, then a stop in steps", runs: "python3", script: pollSteps + `
while signal.SIGTERM not in signal.sigpending():
    time.sleep(0.5)
signal.sigwait([signal.SIGTERM])
stop()`},
}

const pollSteps = `
import os, signal, subprocess, time
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
unblock = lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
shell = subprocess.Popen(["sh", "-c", "app 1; exit $?"], preexec_fn=unblock)
def stop():
    shell.terminate()
    shell.wait()
    time.sleep(1)
    os.kill(int(open("1.pid").read()), signal.SIGTERM)
    while os.path.exists("/proc/" + open("1.pid").read()):
        time.sleep(0.1)
`

// A process that has the signal pending in wait4(2) takes it when something else ends that wait.
func TestStopByOneThatTakesItLater(t *testing.T) {
	t.Parallel()
	for _, s := range lateTakers {
		s.keepsOnce(t)
	}
}

var lateTakers = []start{
	{name: "another child ends", runs: "perl", script: takes + `
my ($job, $tick) = (start("app", "1"), start("sleep", ".5"));
while (1) {
	my $ended = wait;
	last if pending();
	$tick = start("sleep", ".5") if $ended == $tick;
}
stop($job);`},
	{name: "a timer's handler looks", runs: "perl", script: takes + `
my $job = start("app", "1");
$SIG{ALRM} = sub { stop($job) if pending(); alarm 1 };
alarm 1;
waitpid $job, 0;`},
	{name: "it naps between two looks", runs: "perl", script: takes + `
my $job = start("app", "1");
sleep 5 until pending();
stop($job);`},
}

const takes = `
use POSIX qw(SIG_BLOCK SIG_UNBLOCK SIGTERM);
my $term = POSIX::SigSet->new(SIGTERM);
POSIX::sigprocmask(SIG_BLOCK, $term);
sub start { my $pid = fork; return $pid if $pid; POSIX::sigprocmask(SIG_UNBLOCK, $term); exec @_ }
sub pending { my $all = POSIX::SigSet->new; POSIX::sigpending($all); $all->ismember(SIGTERM) }
sub stop { kill TERM => $_[0]; waitpid $_[0], 0; exit }
`

// A runner of two services that signals both and waits for both is left a second for what its shell was
// above.
func TestRunnersOfTwoServices(t *testing.T) {
	t.Parallel()
	for _, s := range runners {
		s.inTime = "idle"
		s.keepsOnce(t)
	}
}

var runners = []start{
	{name: "Python, one of them by a shell", runs: "python3", script: `
import signal, subprocess, sys
a = subprocess.Popen(["app", "1"])
b = subprocess.Popen("X=1; app 2; exit $?", shell=True)
def stop(*_):
    for p in a, b:
        p.terminate()
    for p in a, b:
        p.wait()
    sys.exit()
signal.signal(signal.SIGTERM, stop)
while True:
    signal.pause()`},
	{name: "Node, with a drain of its own", runs: "node", script: `
const { spawn } = require("child_process");
const b = spawn("app 1; exit $?", { shell: true, stdio: "inherit" });
process.on("SIGTERM", () => { b.kill(); setTimeout(() => process.exit(), 6000); });
setInterval(() => {}, 60000);`},
	{name: "a trap that kills both and waits", runs: "bash", script: `
		trap 'kill $a $b; wait; exit' TERM
		app 1 & a=$!; sh -c 'app 2; exit $?' & b=$!; wait`},
	{name: "a trap that kills its jobs and waits", runs: "bash", script: `
		trap 'jobs -p | xargs kill; wait; exit' TERM
		app 1 & sh -c 'app 2; exit $?' & wait`},
}

// What handles TERM, and would die of INT, is sent TERM in the foreground of a start script that gets INT.
func TestInterruptedStartScript(t *testing.T) {
	t.Parallel()
	for _, s := range []start{
		{name: "bash, without a trap", runs: "bash", script: "app 1; exit $?"},
		{name: "bash, with a trap for INT", runs: "bash", script: "trap 'echo cleanup' INT\napp 1; exit $?"},
		{name: "dash, with a trap for INT", runs: "dash", script: "trap 'echo cleanup' INT\napp 1; exit $?"},
	} {
		s.signal, s.inTime = unix.SIGINT, "idle, busy"
		s.keepsOnce(t)
	}
}

// A unit of systemd has /dev/null as its input, opened to read: so has what its shell puts into the
// background.
func TestTrapAboveAForegroundWithNullInput(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "dash", "mksh"} {
		start{name: shell, runs: shell, readsNull: true, inTime: "idle, busy",
			script: "trap 'echo cleanup' TERM\napp 1"}.keepsOnce(t)
	}
}
