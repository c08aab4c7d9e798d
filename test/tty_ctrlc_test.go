package test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// whoSent is a worker that says who sent it a signal, 0 if it was the kernel,
// as by a key of the terminal. It ends by USR1, after all that came before.
const whoSent = `
import os, signal
which = {signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1}
signal.pthread_sigmask(signal.SIG_BLOCK, which)
os.write(1, b"ready %d\n" % os.getpid())
while True:
    info = signal.sigwaitinfo(which)
    if info.si_signo == signal.SIGUSR1:
        break
    os.write(1, b"got %s from %d\n" % (signal.Signals(info.si_signo).name.encode(), info.si_pid))
`

func TestTTYCtrlCReachesTheWorkerOnceFromDrainit(t *testing.T) {
	need(t, "python3")
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- python3 -c '" + whoSent + "'")
	worker := c.ready()
	if fg := c.foreground(); fg == taskOf(worker).group {
		t.Errorf("the worker has the terminal, and never read it")
	}
	drainit := c.above(worker)
	c.keys("\x03")
	if from := c.see(`got SIGINT from (\d+)`)[1]; from != strconv.Itoa(drainit) {
		t.Errorf("SIGINT came from %s, want it from drainit, %d", from, drainit)
	}
	c.waitOut(`drainit: stopping`)
	c.send(worker, unix.SIGUSR1)
	c.wantPrompt(0)
	c.wantShown(`got SIGINT`, 1)
}

// Whatever is above drainit, the session's leader or PID 1 itself.
func TestTTYCtrlCReachesTheWorkerOnceWithoutAShell(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		c := atConsole(t, Launch{NoPID1: noPID1, Args: []string{"--",
			workerBin, "listen", "-catch", "INT,USR1", "-end", "USR1", "-exit", "7"}})
		c.ready()
		c.keys("\x03")
		c.see(`got SIGINT`)
		c.waitOut(`drainit: stopping`)
		c.signal(unix.SIGUSR1)
		c.wantExit(7)
		c.wantShown(`got SIGINT`, 1)
	})
}

func TestTTYCtrlCEndsAsWithoutDrainit(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]struct {
		command string
		status  int
	}{
		"it drains": {"worker listen -catch INT -end INT -drain 100ms -exit 7", 7},
		"it dies":   {"worker listen -catch USR1", 130},
	} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				c.enter(under + w.command)
				c.ready()
				c.keys("\x03")
				c.wantPrompt(w.status)
				c.enter("echo mark$((1+1))")
				c.see(`mark2`)
			})
		})
	}
}

func TestTTYSecondCtrlCKills(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch INT -end INT -drain 1h")
	c.ready()
	c.keys("\x03")
	c.see(`got SIGINT`)
	c.waitOut(`drainit: stopping`)
	pastTheSameRequest()
	c.keys("\x03")
	c.see(`drainit: warning: second stop signal, force-stop: killing worker`)
	c.wantPrompt(137)
	c.wantShown(`got SIGINT`, 1)
}

func TestTTYCtrlCOfATermThatDrainsKills(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- worker listen -catch INT,TERM -end TERM -drain 1h")
	c.send(c.above(c.ready()), unix.SIGTERM)
	c.waitOut(`drainit: stopping`)
	pastTheSameRequest()
	c.keys("\x03")
	c.see(`force-stop`)
	c.wantPrompt(137)
	c.wantShown(`got SIGINT`, 0)
}

// A shell waits for its child on INT, so that it is sent TERM, and its child INT.
func TestTTYCtrlCReachesTheChildOfAShellOnce(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -- sh -c 'worker listen -catch INT,TERM,USR1 -end USR1; echo not reached'")
	worker := c.ready()
	c.keys("\x03")
	c.see(`got SIGINT`)
	c.send(worker, unix.SIGUSR1)
	c.prompt()
	c.wantShown(`got SIG(INT|TERM)`, 1)
	c.wantShown(`^not reached`, 0)
}

// By --forward=group the worker's whole group is signalled, and drainit's own was signalled
// by the terminal.
func TestTTYCtrlCInGroupModeReachesEachOnce(t *testing.T) {
	t.Parallel()
	c := atShell(t)
	c.enter("drainit -g -- sh -c 'worker listen -name a: -catch INT,USR1 -end USR1 & exec worker listen -name b: -catch INT,USR1 -end USR1 -exit 7'")
	pids := map[string]int{}
	for _, name := range []string{"a", "b"} {
		pids[name] = numberIn(t, c.waitOut(name + `:ready (\d+)`)[1])
	}
	c.keys("\x03")
	for _, name := range []string{"a", "b"} {
		c.waitOut(name + `:got SIGINT`)
		c.send(pids[name], unix.SIGUSR1)
	}
	c.wantPrompt(7)
	c.wantShown(`a:got SIGINT`, 1)
	c.wantShown(`b:got SIGINT`, 1)
}

func TestTTYCtrlBackslashIsPassedOnOnce(t *testing.T) {
	t.Parallel()
	beside(t, func(t *testing.T, under string) {
		c := atShell(t)
		c.enter("ulimit -c 0; " + under + "worker listen -catch QUIT,USR1 -end USR1 -exit 6")
		worker := c.ready()
		c.keys("\x1c")
		c.see(`got SIGQUIT`)
		c.send(worker, unix.SIGUSR1)
		c.wantPrompt(6)
		c.wantShown(`got SIGQUIT`, 1)
		c.enter(under + "sh -c 'echo ready $$; exec sleep 1000'")
		c.ready()
		c.keys("\x1c")
		c.wantPrompt(131)
	})
}

// relay is a parent as npm is: the key reaches it and drainit, and it sends the
// signal on to drainit, a while later.
const relay = `
my $pid = fork // die;
if (!$pid) { exec @ARGV or die }
$SIG{INT} = sub { select undef, undef, undef, 0.02; kill INT => $pid; syswrite STDOUT, "relayed\n" };
1 until waitpid($pid, 0) == $pid;
exit($? >> 8);
`

// The relay is at times too late to be the same request, on a busy machine, or drainit so
// late that the kernel makes one of the two: such a run says nothing, and there is another.
func TestTTYKeypressThatAParentRelaysIsOneRequest(t *testing.T) {
	need(t, "perl")
	t.Parallel()
	const runs = 50
	for range runs {
		c := atShell(t)
		c.enter("perl -e '" + relay + "' drainit --log-format json -- worker listen -catch INT,USR1 -end USR1 -exit 7")
		drainit := c.above(c.ready())
		pressed := time.Now()
		c.keys("\x03")
		c.waitOut(`got SIGINT`)
		c.waitOut(`relayed\r`)
		_ = unix.Kill(drainit, unix.SIGUSR1) // behind the second SIGINT; after a force-stop no process is there
		if status := c.prompt(); status == 137 {
			wantForcedLate(t, c.shown(), pressed)
			continue
		} else if status != 7 {
			t.Errorf("exit status %d, want 7", status)
		}
		c.wantShown(`got SIGINT`, 1)
		if strings.Contains(c.shown(), "same request") {
			return
		}
	}
	t.Fatalf("the second SIGINT never came within 100ms of the first, in %d runs", runs)
}

// nodeWorker finishes its job when it is asked to stop, as one of a queue does.
const nodeWorker = `
let asked = 0
for (const sig of ["SIGINT", "SIGTERM"]) process.on(sig, () => {
	console.log("got", sig)
	if (++asked === 1) setTimeout(() => { console.log("drained"); process.exit(7) }, 200)
})
setInterval(() => {}, 1000)
console.log("ready " + process.pid) // a number would be coloured
`

func TestTTYNodeWorkerDrainsOnCtrlC(t *testing.T) {
	need(t, "node")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "worker.js")
	if err := os.WriteFile(file, []byte(nodeWorker), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"node " + file, "sh -c 'node " + file + "; exit $?'"} {
		t.Run(command, func(t *testing.T) {
			beside(t, func(t *testing.T, under string) {
				c := atShell(t)
				c.enter(under + command)
				c.ready()
				c.keys("\x03")
				c.see(`got SIGINT`)
				c.see(`drained`)
				if status := c.prompt(); under != "" && status != 7 {
					t.Errorf("exit status %d, want 7", status)
				}
				c.wantShown(`got SIG`, 1)
				c.wantShown(`drained`, 1)
			})
		})
	}
}
