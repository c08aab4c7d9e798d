package signals

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// aboutDrainit prints what it gets of the signals that are about a process's own limits.
const aboutDrainit = `catch "XCPU", "XFSZ", "USR1", "TERM"; say "ready"; await "TERM"; exit 7`

// XFSZ and XCPU tell drainit that its own log or its own time has reached a limit. A worker
// that handles them gets neither, and one without handlers, which would die, lives.
func TestSignalsAboutDrainitItselfAreNotTheWorkers(t *testing.T) {
	harness.Need(t, "perl")
	for name, worker := range map[string]string{
		"handled":     aboutDrainit,
		"not handled": `catch "USR1", "TERM"; say "ready"; await "TERM"; exit 7`,
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, harness.Script(worker)...)})
				p.WaitReady()
				for _, sig := range []unix.Signal{unix.SIGXCPU, unix.SIGXFSZ} {
					p.Signal(sig)
					harness.WaitUntil(t, "drainit has taken it", func() bool { return !p.Running() || !pending(p) })
				}
				p.Signal(unix.SIGUSR1) // comes behind them
				waitOutAlive(p, `^worker got USR1`)
				wantStop(p, 7, "worker got USR1", "worker got TERM")
			})
		})
	}
}

// The kernel sends XFSZ to who writes beyond the limit of a file's size. When that is
// drainit's log, lines are lost, and neither drainit nor its worker ends.
func TestLogThatReachesTheLimitOfAFileEndsNoProcess(t *testing.T) {
	harness.Need(t, "perl", "dash")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		log, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		const limit = 512 // one block of dash's
		if _, err := log.Write(make([]byte, limit)); err != nil {
			t.Fatal(err)
		}
		drainit := append([]string{harness.DrainitBin}, harness.Line([]string{"-v", harness.LongGrace}, harness.Script(aboutDrainit)...)...)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.PathOf(t, "dash"), Stderr: log, Args: append([]string{"-c", `ulimit -f 1; exec "$@"`, "dash"}, drainit...)})
		waitOutAlive(p, `^ready`)
		p.WaitTitle("drainit:run")
		p.Signal(unix.SIGUSR1)
		waitOutAlive(p, `^worker got USR1`)
		p.Signal(unix.SIGTSTP) // a line more
		p.WaitTitle("drainit:quiet?")
		wantStop(p, 7, "worker got USR1", "worker got TERM")
		if info, err := log.Stat(); err != nil || info.Size() != limit {
			t.Errorf("the log has %v bytes, %v: the limit was not reached", info.Size(), err)
		}
	})
}

// waitOutAlive is WaitOut for a line that an init may end before, by the fault that is tested.
func waitOutAlive(p *harness.Init, pattern string) {
	p.T.Helper()
	harness.WaitUntil(p.T, "a line "+pattern+", or the end", func() bool { return harness.Matches(pattern, p.Stdout.Text()) || !p.Running() })
	if !harness.Matches(pattern, p.Stdout.Text()) {
		p.T.Fatalf("it has ended with status %d before %q\nstdout:\n%s\nstderr:\n%s", p.Wait(), pattern, p.Out(), p.Err())
	}
}
