package signals

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// stopPair are two stop signals.
type stopPair [2]syscall.Signal

func TestSecondStopSignalForcesTheStop(t *testing.T) {
	for name, pair := range map[string]stopPair{"TERM TERM": {unix.SIGTERM, unix.SIGTERM}, "INT TERM": {unix.SIGINT, unix.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[TERM,INT](b[TERM,INT])", "a b")
				passTo(p, pair[0], "a")
				harness.PastTheSameRequest()
				p.Signal(pair[1])
				p.WantExit(137)
				p.WantLogged(`second stop signal, force-stop: `, 1)
				p.WantGots("a got " + strings.TrimPrefix(unix.SignalName(pair[0]), "SIG"))
				p.WantNothingLeft()
			})
		})
	}
}

// pending reports whether a signal has been sent to the init that it has not
// taken from the kernel yet.
func pending(p *harness.Init) bool {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	return err == nil && !strings.Contains(string(b), "ShdPnd:\t0000000000000000\n")
}

// drainsUntilUSR1 is a worker whose drain ends by USR1, which is forwarded to it. Its name forces nothing.
const drainsUntilUSR1 = `$0 = "force:1"; catch "TERM", "INT", "USR1"; say "ready"; await "USR1"; exit 7`

// With --second-stop ignore a stop signal that is repeated is logged once and ignored: a
// platform that repeats itself cuts no job. The worker drains to its end, with its status.
func TestSecondStopIgnored(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, noPID1, []string{"--second-stop=ignore"}, harness.Script(drainsUntilUSR1)...)
		passTo(p, unix.SIGTERM, "worker")
		for _, again := range []syscall.Signal{unix.SIGTERM, unix.SIGTERM, unix.SIGINT} {
			harness.PastTheSameRequest()
			p.Signal(again)
		}
		p.WaitErr(`SIGTERM again: ignored`)
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantLogged(`again: ignored`, 1)
		p.WantLogged(`force-stop`, 0)
		p.WantGots("worker got TERM", "worker got USR1")
	})
}
