package terminal

import (
	"strconv"
	"testing"

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

// After fg, too, when the keys are drainit's again.
func TestTTYSecondCtrlCKills(t *testing.T) {
	t.Parallel()
	c := harness.AtShell(t)
	worker := startWorker(c, "drainit -- worker listen -catch INT,TERM -end INT,TERM -drain 1h")
	ctrlZAndFg(c, 1)
	c.Keys("\x03")
	c.See(`got SIG`)
	c.WaitOut(`drainit: stopping`)
	c.PastTheSameRequest(worker)
	c.Keys("\x03")
	c.See(`drainit: warning: second stop signal, force-stop: killing worker`)
	c.WantPrompt(137)
	c.WantShown(`got SIG`, 1)
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
