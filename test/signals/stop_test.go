package signals

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
	"drainit/test/harness/queued"
)

// stopPair are two stop signals.
type stopPair [2]syscall.Signal

func TestSecondStopSignalForcesTheStop(t *testing.T) {
	for name, pair := range map[string]stopPair{"TERM TERM": {unix.SIGTERM, unix.SIGTERM},
		"INT TERM": {unix.SIGINT, unix.SIGTERM}} {
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

// Signals of one kind may become one, as in the kernel, but none of another kind is lost or doubled.
func TestFloodOfOneSignalLosesNoOther(t *testing.T) {
	harness.Usual(t)
	for _, flood := range []syscall.Signal{unix.SIGWINCH, unix.SIGURG, unix.SIGCHLD, 50} {
		t.Run(signals.Name(flood), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, noPID1, asTheyCome(), listening()...)
				var want []string
				for _, sig := range []syscall.Signal{unix.SIGUSR1, unix.SIGHUP, unix.SIGTSTP,
					unix.SIGQUIT, 41} {
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
		l := harness.Launch{NoPID1: noPID1, Args: harness.Line(
			[]string{"--second-stop=ignore", harness.LongGrace}, listening("-end", "TERM,INT")...)}
		if os.Getuid() == 0 { // the queue is one for all processes of a user: this test fills no other's
			l.Setup.UID = harness.OwnUID()
		}
		p := harness.Run(t, l)
		p.WaitReady()
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

// The group gets each signal once, as by kill(-pgid). What has left it is a leftover when the worker
// has gone, and signalled then, if the worker can't have signalled it before.
func TestGroupModeSignalsTheWorkersGroupOnce(t *testing.T) {
	forEach(t, []string{"-g", "--forward=group"}, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, harness.LongGrace}},
			"a[USR1](b[USR1,TERM](c[USR1]) d[-USR1] e[pgrp,USR1,TERM=0](f[USR1]))", "a b c d e f")
		b := p.ReadyPid(`^ready b`)
		p.Signal(unix.SIGUSR1)
		for _, name := range []string{"a", "b", "c"} {
			p.WaitOut(`^` + name + ` got USR1`)
		}
		passTo(p, unix.SIGTERM, "b")
		p.WaitOut(`^e got TERM`)
		harness.Kill(t, b, unix.SIGKILL)
		p.WantExit(143)
		p.WantGots("a got USR1", "b got USR1", "c got USR1", "b got TERM", "e got TERM")
	})
}

// drainit ends with its worker, whose leftovers are sent nothing before they are killed.
func TestWorkerModeGivesSignalsToTheWorkerAlone(t *testing.T) {
	forEach(t, []string{"-c", "--forward=worker"}, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, harness.LongGrace}},
			"a[USR1,CONT,TERM=7](b[USR1,CONT,TERM,HUP] c)", "a b c")
		passTo(p, unix.SIGUSR1, "a")
		passTo(p, unix.SIGCONT, "a")
		wantStop(p, 7, "a got USR1", "a got CONT", "a got TERM")
		p.WantNothingLeft()
		p.WantLogged(harness.KillLine, 1)
	})
}
