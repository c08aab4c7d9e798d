package signals

import (
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
