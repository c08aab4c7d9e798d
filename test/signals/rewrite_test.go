package signals

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestRewriteDeliversOneSignalInPlaceOfAnother(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, noPID1, []string{"-r", "37:WINCH", "-r", "USR1:RTMIN+29", "-r", "USR2:TSTP", "-r", "POLL:SEGV"}, listening()...)
		want := []string{"got SIGWINCH", "got SIGRTMIN+29", "got SIGTSTP", "got SIGSEGV", "got SIGTERM"}
		for n, sig := range []syscall.Signal{37, unix.SIGUSR1, unix.SIGUSR2, unix.SIGIO, unix.SIGTERM} {
			p.Signal(sig)
			p.WaitOut(`^` + regexp.QuoteMeta(want[n]) + `$`)
		}
		p.WantExit(7)
		p.WantGots(want...)
	})
}

// A signal that is dropped has not come: it is forwarded to no process, begins no phase, is no request
// that another one could repeat, and forces nothing in the drain that the other stop signal began.
func TestDroppedSignalHasNotCome(t *testing.T) {
	for dropped, stop := range map[syscall.Signal]syscall.Signal{unix.SIGTERM: unix.SIGINT, unix.SIGINT: unix.SIGTERM} {
		t.Run(unix.SignalName(dropped), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				flags, all := []string{"-v"}, []syscall.Signal{dropped, unix.SIGTSTP, unix.SIGCONT, unix.SIGUSR1, unix.SIGTTIN, 44}
				for _, sig := range all {
					flags = append(flags, "-r", fmt.Sprintf("%d:0", sig))
				}
				p := launch(t, noPID1, flags, listening("-end", "USR2")...)
				for _, sig := range all {
					p.Signal(sig)
				}
				p.WaitErr(`dropped SIGRTMIN\+10`)
				p.WaitErr(`dropped ` + unix.SignalName(dropped))
				p.WantTitle("drainit:run")
				p.Signal(stop)
				p.WaitOut(`^got ` + unix.SignalName(stop))
				harness.PastTheSameRequest(p)
				p.Signal(dropped)
				p.WaitErr(`(?s)(dropped ` + unix.SignalName(dropped) + `.*){2}`)
				p.Signal(unix.SIGUSR2)
				p.WantExit(7)
				p.WantGots("got "+unix.SignalName(stop), "got SIGUSR2")
				p.WantLogged(`treated as one request`, 0)
			})
		})
	}
}

// The phases go by the signal that came: TERM stops whatever is delivered in
// its place, and a QUIT that comes by itself does not.
func TestRewrittenTermIsAStopSignal(t *testing.T) {
	forEach(t, []string{"auto", "group"}, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode, "-r", "TERM:QUIT", "-r", "USR1:TERM"}},
			"a[QUIT,TERM,USR2=7]", "a")
		for n, sig := range []syscall.Signal{unix.SIGQUIT, unix.SIGUSR1, unix.SIGTERM} {
			p.WantTitle("drainit:run")
			p.Signal(sig)
			harness.WaitUntil(t, "the worker got it", func() bool { return len(harness.Gots(p.Out())) == n+1 })
		}
		p.WaitErr(`stopping.*"SIGTERM"`)
		p.Signal(unix.SIGUSR2)
		p.WantExit(7)
		p.WantGots("a got QUIT", "a got QUIT", "a got TERM", "a got USR2")
	})
}

// TSTP in place of another signal stops those that do not handle it just as well.
func TestRewriteToTstpFreezesNoProcess(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.OnTerminal(t, harness.Launch{NoPID1: noPID1, Args: []string{"-r", "HUP:TSTP"}}), "a[USR2](b[pgrp])", "a b")
		p.WaitTitle("drainit:run")
		p.Signal(unix.SIGHUP)
		passTo(p, unix.SIGUSR2, "a")
		p.WantNotStopped()
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}
