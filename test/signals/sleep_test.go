package signals

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// waitAsleep waits until drainit's main thread sleeps in a system call, and is not stopped on its
// way there by a strace.
func waitAsleep(p *harness.Init, call int) {
	p.T.Helper()
	harness.WaitUntil(p.T, "drainit sleeps", func() bool {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", p.Pid()))
		return err == nil && strings.HasPrefix(string(b), fmt.Sprint(call, " ")) && harness.StateOf(p.Pid()) == 'S'
	})
}

// A signal that comes while drainit has nothing to do is given to its main thread, and runs no
// handler of the Go runtime's, unless another thread is quicker; a stop signal runs one.
func TestSignalComesToTheMainThread(t *testing.T) {
	harness.Need(t, "perl", "strace")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		const times = 10
		file := filepath.Join(t.TempDir(), "trace")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Trace: []string{"-f", "-b", "execve", "-e", "trace=rt_sigtimedwait", "-e", "signal=usr1,term", "-o", file},
			Args: harness.Line([]string{harness.LongGrace}, harness.Script(`catch "USR1", "TERM"; say "ready"; await "TERM"; exit 7`)...)})
		p.WaitReady()
		for n := range times {
			waitAsleep(p, unix.SYS_RT_SIGTIMEDWAIT)
			p.Signal(unix.SIGUSR1)
			harness.WaitUntil(t, "the worker has it", func() bool { return strings.Count(p.Stdout.Text(), "worker got USR1") > n })
		}
		waitAsleep(p, unix.SYS_RT_SIGTIMEDWAIT)
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
		<-p.Tracer
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		of := func(text string) int { return strings.Count(string(b), text) }
		given, handled := of("= 10 (SIGUSR1)"), of("--- SIGUSR1")
		if given == 0 || given+handled != times || of("--- SIGTERM") != 1 {
			t.Errorf("%d were given to it, and %d ran a handler:\n%s", given, handled, b)
		}
	})
}

// Where drainit may not sleep so, or not wake the one thread, each signal comes all the same,
// orphans are reaped, and a stop is acted upon.
func TestSignalsWithoutSigtimedwait(t *testing.T) {
	harness.Need(t, "perl")
	for name, not := range map[string]int{"rt_sigtimedwait": unix.SYS_RT_SIGTIMEDWAIT, "tgkill": unix.SYS_TGKILL} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin, Args: append(withoutCall(not),
					harness.Line([]string{harness.LongGrace}, harness.Script(`
						spawn { spawn { nap 0.1; exit 0 }; exit 0 }; wait;
						catch "USR1", "HUP", "TSTP", "TERM"; say "ready"; await "TERM"; exit 7`)...)...)})
				p.WaitOut(`^ready`)
				p.WaitTitle("drainit:run")
				harness.WaitUntil(t, "the orphan is reaped", func() bool { return len(harness.ChildrenOf(p.Pid())) == 1 })
				waitAsleep(p, unix.SYS_FUTEX)
				for _, sig := range []string{"USR1", "HUP", "TSTP"} {
					p.Signal(unix.SignalNum("SIG" + sig))
					waitOutAlive(p, `^worker got `+sig)
				}
				wantStop(p, 7, "worker got USR1", "worker got HUP", "worker got TSTP", "worker got TERM")
				p.WantNothingLeft()
			})
		})
	}
}
