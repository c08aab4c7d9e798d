package signals

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// waitsBeside is a worker that blocks its signals. They are taken by one thread, by
// sigwait or signalfd, while its main one does something else. It ends by TERM with
// status 7.
const waitsBeside = `
import ctypes, os, signal, sys, threading, time
def take():
    while True:
        sig = os.read(fd, 128)[0] if sys.argv[2] == "signalfd" else signal.sigwait(signals)
        os.write(1, f"got {signal.Signals(sig).name}\n".encode()) # whole, beside the other thread's
        if sig == signal.SIGTERM:
            os._exit(7)
signals = {signal.SIGTSTP, signal.SIGCONT, signal.SIGUSR1, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
if sys.argv[2] == "signalfd":
    mask = ctypes.c_uint64(sum(1 << sig - 1 for sig in signals))
    fd = ctypes.CDLL(None).syscall(int(sys.argv[3]), -1, ctypes.byref(mask), 8, 0)
threading.Thread(target=take).start()
os.write(1, b"ready\n")
while sys.argv[1] == "wakes up often":
    time.sleep(0.0003)
while sys.argv[1] == "computes":
    sum(range(1000))
signal.pause()
`

// What the main thread does meanwhile is no matter.
func TestBlockedSignalsAreCaughtByWhoTakesThem(t *testing.T) {
	harness.Need(t, "python3")
	t.Run("the main thread sleeps", func(t *testing.T) { takeBeside(t, "sleeps") })
	t.Run("the main thread works", func(t *testing.T) {
		harness.Full(t)
		takeBeside(t, "computes", "wakes up often")
	})
}

// takeBeside has the main thread do each of these.
func takeBeside(t *testing.T, does ...string) {
	for _, main := range does {
		for _, by := range []string{"sigwait", "signalfd"} {
			args := []string{waitsBeside, main, by, strconv.Itoa(unix.SYS_SIGNALFD4)}
			for name, command := range map[string][]string{
				"the worker":    append([]string{"python3", "-c"}, args...),
				"below a shell": append([]string{"sh", "-c", `python3 -c "$@"; exit $?`, "sh"}, args...),
			} {
				t.Run(main+", "+by+", "+name, func(t *testing.T) {
					harness.BothModes(t, func(t *testing.T, noPID1 bool) { takesEachOnce(t, noPID1, command) })
				})
			}
		}
	}
}

// Who is in sigwait for one signal would be stopped by another.
func TestQuietStopsNoProcessThatWaitsForOtherSignals(t *testing.T) {
	harness.Need(t, "python3")
	const waits = `
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("ready", os.getpid(), flush=True)
signal.sigwait({signal.SIGUSR1})
print("got SIGUSR1", flush=True)
while True: signal.pause()
`
	for name, command := range map[string][]string{
		"the worker":    {"python3", "-c", waits},
		"below a shell": {"sh", "-c", `python3 -c "$0"; exit $?`, waits},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(nil, command...)})
				waiting := p.ReadyPid(`^ready`)
				harness.WaitUntil(t, "it waits", func() bool { return harness.StateOf(waiting) == 'S' })
				p.Signal(unix.SIGTSTP)
				p.WaitErr(`no SIGTSTP handler`)
				p.Signal(unix.SIGUSR1)
				p.WaitOut(`^got SIGUSR1`)
				p.Signal(unix.SIGTERM)
				p.WantExit(143)
			})
		})
	}
}

func takesEachOnce(t *testing.T, noPID1 bool, command []string) {
	t.Parallel()
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(nil, command...)})
	p.WaitOut(`^ready`)
	waits := func() {
		if slices.Contains(command, "sigwait") { // it may not be in it yet, and drainit sleeps so, too
			harness.WaitUntil(t, "a thread is in sigwait", func() bool { return slices.ContainsFunc(p.Below()[1:], inSigwait) })
		}
	}
	for _, sig := range []unix.Signal{unix.SIGTSTP, unix.SIGCONT, unix.SIGUSR1} {
		waits()
		p.Signal(sig)
		p.WaitOut(`^got ` + unix.SignalName(sig))
	}
	waits()
	p.Signal(unix.SIGTERM)
	p.WantExit(7)
	if n := strings.Count(p.Out(), "got SIGTERM"); n != 1 {
		t.Errorf("signalled %d times:\n%s", n, p.Out())
	}
	p.WantCount("does not catch", 0)
}

// inSigwait reports whether a thread of a process is in sigwait.
func inSigwait(pid int) bool {
	calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid)) // fails for a bad pattern only
	for _, file := range calls {
		call, _ := os.ReadFile(file) // empty if it has gone
		if strings.HasPrefix(string(call), strconv.Itoa(unix.SYS_RT_SIGTIMEDWAIT)+" ") {
			return true
		}
	}
	return false
}

// Without /proc no process can be looked at, and a group is signalled all the same.
func TestGroupModeWithoutProcTellsTheGroup(t *testing.T) {
	t.Parallel()
	for _, proc := range []string{"none", "foreign"} {
		t.Run(proc, func(t *testing.T) {
			t.Parallel()
			p := harness.StartTree(t, harness.Launch{Setup: harness.Setup{Proc: proc}, Args: []string{"-g"}}, "a[TERM=7](b[TERM=0])", "a b")
			wantStop(p, 7, "a got TERM", "b got TERM")
		})
	}
}

// What a worker that has daemonized left is signalled in every mode.
func TestForkingTellsWhatWasLeftInEveryMode(t *testing.T) {
	harness.Need(t, "perl")
	for _, mode := range forwardModes {
		t.Run(mode, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"--forward", mode, "--forking", harness.LongGrace}, harness.Script(`
					$name = "daemon"; catch "TERM"; spawn { POSIX::setsid(); say "ready"; await "TERM" }`)...)})
				p.WaitOut(`^ready`)
				p.WaitErr(`runs on in`)
				wantStop(p, 0, "daemon got TERM")
			})
		})
	}
}

func TestGraceOfZeroSaysThatItKillsAtOnce(t *testing.T) {
	harness.Need(t, "setsid")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace=0", "--", "sh", "-c", "setsid sleep 1000 & exit 0"}})
		p.WantExit(0)
		p.WaitErr(`left 1 process \(\w+\[\d+\]\), SIGKILL at once: the grace period is 0`)
		p.WantNothingLeft()
	})
}

// A CONT has a slot of its own: it is not lost behind any number of TSTP.
func TestContBehindAFloodOfTstpResumes(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM"}})
		p.WaitOut(`^ready`)
		for range 20000 {
			p.Signal(unix.SIGTSTP)
		}
		p.Signal(unix.SIGCONT)
		p.WaitTitle("drainit:run")
		p.Signal(unix.SIGTERM)
		p.WantExit(0)
	})
}
