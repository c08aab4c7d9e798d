package signals

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Signals about drainit's own children, pipes and limits are not the worker's, who handles them all.
func TestSignalsAboutDrainitItselfAreNotTheWorkers(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[URG,CHLD,PIPE,XCPU,XFSZ,USR1,TERM=7](b[URG,CHLD,PIPE,XCPU,XFSZ])", "a b")
		for _, sig := range []unix.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE, unix.SIGXCPU, unix.SIGXFSZ} {
			p.Signal(sig)
			harness.WaitUntil(t, "drainit has taken it", func() bool { return !p.Running() || !pending(p) })
		}
		passTo(p, unix.SIGUSR1, "a")
		wantStop(p, 7, "a got USR1", "a got TERM")
	})
}

// The kernel sends XFSZ to who writes beyond the limit of a file's size. When that is
// drainit's log, lines are lost, and neither drainit nor its worker ends.
func TestLogThatReachesTheLimitOfAFileEndsNoProcess(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		log, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		const limit = 512 // one block of dash's
		if _, err := log.Write(make([]byte, limit)); err != nil {
			t.Fatal(err)
		}
		args := []string{"-c", `ulimit -f 1; exec "$@"`, "dash", harness.DrainitBin, "-v", harness.LongGrace, "--"}
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Bin: harness.PathOf(t, "dash"), Stderr: log,
			Args: append(args, harness.Script(`catch "XCPU", "XFSZ", "USR1", "TERM"; say "ready"; await "TERM"; exit 7`)...)})
		p.WaitReady()
		passTo(p, unix.SIGUSR1, "worker")
		p.Signal(unix.SIGTSTP) // a line more
		p.WaitTitle("drainit:quiet?")
		wantStop(p, 7, "worker got USR1", "worker got TERM")
		if info, err := log.Stat(); err != nil || info.Size() != limit {
			t.Errorf("the log has %v bytes, %v: the limit was not reached", info.Size(), err)
		}
	})
}
