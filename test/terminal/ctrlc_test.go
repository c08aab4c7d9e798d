package terminal

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
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
	harness.Need(t, "python3")
	t.Parallel()
	c := harness.AtShell(t)
	worker := startWorker(c, "drainit -- python3 -c '"+whoSent+"'")
	if fg := c.Foreground(); fg == harness.TaskOf(worker).Group {
		t.Errorf("the worker has the terminal, and never read it")
	}
	drainit := c.Above(worker)
	c.Keys("\x03")
	if from := c.See(`got SIGINT from (\d+)`)[1]; from != strconv.Itoa(drainit) {
		t.Errorf("SIGINT came from %s, want it from drainit, %d", from, drainit)
	}
	c.WaitOut(`drainit: stopping`)
	c.Send(worker, unix.SIGUSR1)
	c.WantPrompt(0)
	c.WantShown(`got SIGINT`, 1)
}

// Whatever is above drainit, the session's leader or PID 1 itself.
func TestTTYCtrlCReachesTheWorkerOnceWithoutAShell(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		c := harness.AtConsole(t, harness.Launch{NoPID1: noPID1, Args: []string{"--",
			harness.WorkerBin, "listen", "-catch", "INT,USR1", "-end", "USR1", "-exit", "7"}})
		c.Ready()
		c.Keys("\x03")
		c.See(`got SIGINT`)
		c.WaitOut(`drainit: stopping`)
		c.Signal(unix.SIGUSR1)
		c.WantExit(7)
		c.WantShown(`got SIGINT`, 1)
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
			harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
				startWorker(c, under+w.command)
				c.Keys("\x03")
				c.WantPrompt(w.status)
				c.Enter("echo mark$((1+1))")
				c.See(`mark2`)
			})
		})
	}
}

func TestTTYSecondCtrlCKills(t *testing.T) {
	t.Parallel()
	c := harness.AtShell(t)
	worker := startWorker(c, "drainit -- worker listen -catch INT -end INT -drain 1h")
	c.Keys("\x03")
	c.See(`got SIGINT`)
	c.WaitOut(`drainit: stopping`)
	c.PastTheSameRequest(worker)
	c.Keys("\x03")
	c.See(`drainit: warning: second stop signal, force-stop: killing worker`)
	c.WantPrompt(137)
	c.WantShown(`got SIGINT`, 1)
}

func TestTTYCtrlCOfATermThatDrainsKills(t *testing.T) {
	t.Parallel()
	c := harness.AtShell(t)
	c.Enter("drainit -- worker listen -catch INT,TERM -end TERM -drain 1h")
	worker := c.Ready()
	c.Send(c.Above(worker), unix.SIGTERM)
	c.WaitOut(`drainit: stopping`)
	c.PastTheSameRequest(worker)
	c.Keys("\x03")
	c.See(`force-stop`)
	c.WantPrompt(137)
	c.WantShown(`got SIGINT`, 0)
}

// A shell waits for its child on INT, so that it is sent TERM, and its child INT.
func TestTTYCtrlCReachesTheChildOfAShellOnce(t *testing.T) {
	t.Parallel()
	c := harness.AtShell(t)
	worker := startWorker(c, "drainit -- sh -c 'worker listen -catch INT,TERM,USR1 -end USR1; echo not reached'")
	c.Keys("\x03")
	c.See(`got SIGINT`)
	c.Send(worker, unix.SIGUSR1)
	c.Prompt()
	c.WantShown(`got SIG(INT|TERM)`, 1)
	c.WantShown(`^not reached`, 0)
}

// By --forward=group the worker's whole group is signalled, and drainit's own was signalled
// by the terminal.
func TestTTYCtrlCInGroupModeReachesEachOnce(t *testing.T) {
	t.Parallel()
	c := harness.AtShell(t)
	c.Enter("drainit -g -- sh -c 'worker listen -name a: -catch INT,USR1 -end USR1 & exec worker listen -name b: -catch INT,USR1 -end USR1 -exit 7'")
	pids := map[string]int{}
	for _, name := range []string{"a", "b"} {
		pids[name] = numberIn(t, c.WaitOut(name + `:ready (\d+)`)[1])
	}
	c.Keys("\x03")
	for _, name := range []string{"a", "b"} {
		c.WaitOut(name + `:got SIGINT`)
		c.Send(pids[name], unix.SIGUSR1)
	}
	c.WantPrompt(7)
	c.WantShown(`a:got SIGINT`, 1)
	c.WantShown(`b:got SIGINT`, 1)
}

func TestTTYCtrlBackslashIsPassedOnOnce(t *testing.T) {
	t.Parallel()
	harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
		worker := startWorker(c, "ulimit -c 0; "+under+"worker listen -catch QUIT,USR1 -end USR1 -exit 6")
		c.Keys("\x1c")
		c.See(`got SIGQUIT`)
		c.Send(worker, unix.SIGUSR1)
		c.WantPrompt(6)
		c.WantShown(`got SIGQUIT`, 1)
		startWorker(c, under+"sh -c 'echo ready $$; exec sleep 1000'")
		c.Keys("\x1c")
		c.WantPrompt(131)
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
	harness.Need(t, "perl")
	t.Parallel()
	const runs = 50
	for range runs {
		c := harness.AtShell(t)
		c.Enter("perl -e '" + relay + "' drainit --log-format json -- worker listen -catch INT,USR1 -end USR1 -exit 7")
		drainit := c.Above(c.Ready())
		pressed := time.Now()
		c.Keys("\x03")
		c.WaitOut(`got SIGINT`)
		c.WaitOut(`relayed\r`)
		_ = unix.Kill(drainit, unix.SIGUSR1) // behind the second SIGINT; after a force-stop no process is there
		if status := c.Prompt(); status == 137 {
			harness.WantForcedLate(t, c.Shown(), pressed)
			continue
		} else if status != 7 {
			t.Errorf("exit status %d, want 7", status)
		}
		c.WantShown(`got SIGINT`, 1)
		if strings.Contains(c.Shown(), "treated as one request") {
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
	harness.Need(t, "node")
	t.Parallel()
	file := filepath.Join(t.TempDir(), "worker.js")
	if err := os.WriteFile(file, []byte(nodeWorker), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"node " + file, "sh -c 'node " + file + "; exit $?'"} {
		t.Run(command, func(t *testing.T) {
			harness.BesideAtShell(t, func(t *testing.T, c *harness.Console, under string) {
				startWorker(c, under+command)
				c.Keys("\x03")
				c.See(`got SIGINT`)
				c.See(`drained`)
				if status := c.Prompt(); under != "" && status != 7 {
					t.Errorf("exit status %d, want 7", status)
				}
				c.WantShown(`got SIG`, 1)
				c.WantShown(`drained`, 1)
			})
		})
	}
}
