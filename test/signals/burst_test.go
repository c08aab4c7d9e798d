package signals

import (
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
	"drainit/test/harness/queued"
)

// Signals of one kind may become one, as in the kernel, but none of another kind is lost or doubled.
func TestFloodOfOneSignalLosesNoOther(t *testing.T) {
	harness.Usual(t)
	for _, flood := range []syscall.Signal{unix.SIGWINCH, unix.SIGURG, unix.SIGCHLD, 50} {
		t.Run(signals.Name(flood), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, noPID1, nil, listening()...)
				var want []string
				for _, sig := range []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGTSTP, unix.SIGQUIT, 41} {
					want = append(want, sendIn(p, flood, sig))
				}
				for _, line := range want {
					p.WaitOut(`^` + regexp.QuoteMeta(line) + `$`)
				}
				want = append(want, sendIn(p, flood, unix.SIGTERM))
				p.WantExit(7)
				for _, line := range want {
					p.WantCount(line, 1)
				}
			})
		})
	}
}

// sendIn sends a signal in the middle of many of another, and returns the line
// that the worker has for it.
func sendIn(p *harness.Init, flood, sig syscall.Signal) (line string) {
	p.T.Helper()
	for n := range 400 {
		if n == 200 {
			p.Signal(sig)
		}
		p.Signal(flood)
	}
	return "got " + signals.Name(sig)
}

// What waits for a drainit that is stopped is one request, TERM, and has no queue of real-time signals before
// it that would take minutes: the kernel keeps no more of them, and says so.
func TestSignalsThatWaitForAStoppedDrainit(t *testing.T) {
	const bound = 2000
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, noPID1, []string{"--second-stop=ignore"}, listening("-end", "TERM,INT")...)
		p.WaitTitle("drainit:run")
		harness.Freeze(t, p.Pid())
		n := 0
		for ; n < bound && queued.Send(p.Pid(), unix.Signal(40+n%10)) == nil; n++ {
		}
		if n == bound {
			t.Error("the queue has no bound")
		}
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGCONT} {
			p.Signal(sig)
		}
		p.WantExit(7)
		p.WantCount("got SIGTERM", 1)
		p.WantCount("got SIGINT", 0)
	})
}
