package test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// aboutDrainit prints what it gets of the signals that are about a process's own limits.
const aboutDrainit = `catch "XCPU", "XFSZ", "USR1", "TERM"; say "ready"; await "TERM"; exit 7`

// XFSZ and XCPU tell drainit that its own log or its own time has reached a limit. A worker
// that handles them gets neither, and one without handlers, which would die, lives.
func TestSignalsAboutDrainitItselfAreNotTheWorkers(t *testing.T) {
	need(t, "perl")
	for name, worker := range map[string]string{
		"handled":     aboutDrainit,
		"not handled": `catch "USR1", "TERM"; say "ready"; await "TERM"; exit 7`,
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(worker)...)})
				p.waitOut(`^ready`)
				p.waitTitle("drainit:run")
				for _, sig := range []unix.Signal{unix.SIGXCPU, unix.SIGXFSZ} {
					p.signal(sig)
					waitUntil(t, "drainit has taken it", func() bool { return !p.running() || !p.pending() })
				}
				p.signal(unix.SIGUSR1) // comes behind them
				p.waitOutAlive(`^worker got USR1`)
				p.signal(unix.SIGTERM)
				p.wantExit(7)
				p.wantGots("worker got USR1", "worker got TERM")
			})
		})
	}
}

// The kernel sends XFSZ to who writes beyond the limit of a file's size. When that is
// drainit's log, lines are lost, and neither drainit nor its worker ends.
func TestLogThatReachesTheLimitOfAFileEndsNoProcess(t *testing.T) {
	need(t, "perl", "dash")
	bothModes(t, func(t *testing.T, noPID1 bool) {
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
		drainit := append([]string{drainitBin}, line([]string{"-v", longGrace}, script(aboutDrainit)...)...)
		p := launch(t, Launch{NoPID1: noPID1, Bin: pathOf(t, "dash"), Stderr: log, Args: append([]string{"-c", `ulimit -f 1; exec "$@"`, "dash"}, drainit...)})
		p.waitOutAlive(`^ready`)
		p.waitTitle("drainit:run")
		p.signal(unix.SIGUSR1)
		p.waitOutAlive(`^worker got USR1`)
		p.signal(unix.SIGTSTP) // a line more
		p.waitTitle("drainit:quiet?")
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantGots("worker got USR1", "worker got TERM")
		if info, err := log.Stat(); err != nil || info.Size() != limit {
			t.Errorf("the log has %v bytes, %v: the limit was not reached", info.Size(), err)
		}
	})
}

// waitOutAlive is waitOut for a line that an init may end before, by the fault that is tested.
func (p *Init) waitOutAlive(pattern string) {
	p.t.Helper()
	waitUntil(p.t, "a line "+pattern+", or the end", func() bool { return matches(pattern, p.stdout.text()) || !p.running() })
	if !matches(pattern, p.stdout.text()) {
		p.t.Fatalf("it has ended with status %d before %q\nstdout:\n%s\nstderr:\n%s", p.wait(), pattern, p.out(), p.err())
	}
}
