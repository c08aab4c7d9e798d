package signals

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness"
)

// catchable are the signals that drainit can see and passes on: 1 to 64, but
// KILL and STOP, PROF and 32 to 34, which the Go runtime never delivers, and
// URG, CHLD, PIPE, XCPU, XFSZ and the faults, which are drainit's own. The list is written out: one
// that is computed would have the same hole as the code.
var catchable = []syscall.Signal{
	1, 2, 3, 6, 10, 12, 14, 15, 18, 20, 21, 22, 26, 28, 29, 30,
	35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64,
}

func TestEachSignalReachesTheWorkerOnce(t *testing.T) {
	for _, stop := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		t.Run(signals.Name(stop), func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{
					"--", harness.WorkerBin, "listen", "-catch", "all", "-end", "TERM,INT", "-exit", "7"}})
				p.WaitReady()
				var want []string
				for _, sig := range catchable {
					if sig != unix.SIGTERM && sig != unix.SIGINT {
						want = append(want, pass(p, sig))
					}
				}
				want = append(want, pass(p, stop))
				p.WantExit(7)
				p.WantGots(want...)
			})
		})
	}
}

// pass sends a signal and waits for the worker's line about it.
func pass(p *harness.Init, sig syscall.Signal) (line string) {
	p.T.Helper()
	line = "got " + signals.Name(sig)
	p.Signal(sig)
	p.WaitOut(`^` + regexp.QuoteMeta(line) + `$`)
	return line
}

// From inside a container kill(1) is all that people have, and the kernel lets
// it through to PID 1 only where PID 1 has a handler.
func TestSignalsFromInsideDoNotEndPID1(t *testing.T) {
	t.Parallel()
	harness.Need(t, "perl")
	p := harness.Start(t, "--", "perl", "-e", `
		use POSIX ();
		$| = 1; my %got;
		my $none = POSIX::SigSet->new; my $all = POSIX::SigSet->new; $all->fillset;
		POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all);
		for my $sig (qw(HUP QUIT ABRT VTALRM PWR USR1)) {
			$SIG{$sig} = sub { $got{$sig}++ };
			kill $sig, 1;
			POSIX::sigsuspend($none) until $got{$sig};
			print "got $sig\n";
		}
		exit 7`)
	p.WantExit(7)
	p.WantGots("got HUP", "got QUIT", "got ABRT", "got VTALRM", "got PWR", "got USR1")
}

func TestUrgChldAndPipeStayWithDrainit(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[URG,CHLD,PIPE,USR1,TERM=7](b[URG,CHLD,PIPE])", "a b")
		for range 20 {
			for _, sig := range []syscall.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE} {
				p.Signal(sig)
			}
		}
		passTo(p, unix.SIGUSR1, "a")
		wantStop(p, 7, "a got USR1", "a got TERM")
	})
}

// On the way down a signal goes to the first that handles it, and to no process
// below that one.
func TestSignalGoesToTheFirstThatCatchesIt(t *testing.T) {
	for _, tc := range []treeCase{
		{"worker", "a[@](b[@])", "a b", []string{"a got @"}},
		{"below a worker that does not catch it", "a(b[@](c[@]))", "a b c", []string{"b got @"}},
		{"on each way down", "a(b[@](c[@]) d(e[@] f[@]) g)", "a b c d e f g", []string{"b got @", "e got @", "f got @"}},
		{"far below", "a(b(c(d(e[@]))))", "a b c d e", []string{"e got @"}},
		{"not those that ignore it", "a[-@](b[@])", "a b", []string{"b got @"}},
		{"another group", "a(b[pgrp,@](c[pgrp,@]))", "a b c", []string{"b got @"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				// All of them in one tree: each finds its own way.
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, harness.Spread(tc.tree), tc.ready)
				var want []string
				for _, sig := range harness.PassedOn {
					p.Signal(unix.SignalNum("SIG" + sig))
					for _, line := range tc.want {
						want = append(want, strings.ReplaceAll(line, "@", sig))
						p.WaitOut(`^` + strings.ReplaceAll(line, "@", sig) + `$`)
					}
				}
				wantStop(p, 143, want...)
			})
		})
	}
}

func TestSignalThatNoProcessHandlesGoesToTheWorker(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{
		unix.SIGUSR1: 138, unix.SIGUSR2: 140, unix.SIGHUP: 129, unix.SIGALRM: 142, unix.SIGQUIT: 131, 40: 168,
	} {
		t.Run(signals.Name(sig), func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a(b)", "a b")
				p.Signal(sig)
				p.WantExit(want)
			})
		})
	}
}

// WINCH's default is to be ignored, so that one to a worker that does not
// catch it shows in nothing; but it must not hold up what follows.
func TestSignalToAWorkerThatIgnoresItDoesNothing(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[-USR1,USR2,TERM=7]", "a")
		p.Signal(unix.SIGUSR1)
		p.Signal(unix.SIGWINCH)
		passTo(p, unix.SIGUSR2, "a")
		wantStop(p, 7, "a got USR2", "a got TERM")
	})
}

func TestTtinAndTtouGoOnlyToThoseThatCatchThem(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		// c is in a group that is not orphaned: the kernel would stop it.
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode, harness.LongGrace}},
			"a[TTIN,USR1,TERM=7](b c[pgrp])", "a b c")
		p.Signal(unix.SIGTTOU)
		passTo(p, unix.SIGTTIN, "a")
		p.Signal(unix.SIGTTOU)
		p.Signal(unix.SIGTTIN)
		harness.WaitUntil(t, "two TTIN", func() bool { return len(harness.Gots(p.Out())) == 2 })
		p.WantNotStopped()
		wantStop(p, 7, "a got TTIN", "a got TTIN", "a got TERM")
	})
}

func TestTtinAndTtouStopNoProcess(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		// With a terminal the worker is not in an orphaned group either.
		p := harness.StartTree(t, harness.OnTerminal(t, harness.Launch{NoPID1: noPID1}), "a[USR1](b c[pgrp])", "a b c")
		for range 5 {
			p.Signal(unix.SIGTTIN)
			p.Signal(unix.SIGTTOU)
		}
		passTo(p, unix.SIGUSR1, "a")
		p.WantNotStopped()
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}
