package test

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// catchable are the signals that drainit can see and passes on: 1 to 64, but
// KILL and STOP, PROF and 32 to 34, which the Go runtime never delivers, and
// URG, CHLD, PIPE, XCPU and XFSZ, which are drainit's own. The list is written out: one
// that is computed would have the same hole as the code.
var catchable = []syscall.Signal{
	1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 14, 15, 16, 18, 20, 21, 22, 26, 28, 29, 30, 31,
	35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64,
}

func TestEachSignalReachesTheWorkerOnce(t *testing.T) {
	for _, stop := range []syscall.Signal{unix.SIGTERM, unix.SIGINT} {
		t.Run(signals.Name(stop), func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := launch(t, Launch{NoPID1: noPID1, Args: []string{
					"--", workerBin, "listen", "-catch", "all", "-end", "TERM,INT", "-exit", "7"}})
				p.waitOut(`^ready`)
				var want []string
				for _, sig := range catchable {
					if sig != unix.SIGTERM && sig != unix.SIGINT {
						want = append(want, p.pass(sig))
					}
				}
				want = append(want, p.pass(stop))
				p.wantExit(7)
				p.wantGots(want...)
			})
		})
	}
}

// pass sends a signal and waits for the worker's line about it.
func (p *Init) pass(sig syscall.Signal) (line string) {
	p.t.Helper()
	line = "got " + signals.Name(sig)
	p.signal(sig)
	p.waitOut(`^` + regexp.QuoteMeta(line) + `$`)
	return line
}

// From inside a container kill(1) is all that people have, and the kernel lets
// it through to PID 1 only where PID 1 has a handler.
func TestSignalsFromInsideDoNotEndPID1(t *testing.T) {
	t.Parallel()
	need(t, "perl")
	p := start(t, "--", "perl", "-e", `
		use POSIX ();
		$| = 1; my %got;
		my $none = POSIX::SigSet->new; my $all = POSIX::SigSet->new; $all->fillset;
		POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all);
		for my $sig (qw(HUP QUIT ILL TRAP ABRT BUS FPE SEGV STKFLT SYS USR1)) {
			$SIG{$sig} = sub { $got{$sig}++ };
			kill $sig, 1;
			POSIX::sigsuspend($none) until $got{$sig};
			print "got $sig\n";
		}
		exit 7`)
	p.wantExit(7)
	p.wantGots("got HUP", "got QUIT", "got ILL", "got TRAP", "got ABRT", "got BUS", "got FPE",
		"got SEGV", "got STKFLT", "got SYS", "got USR1")
}

func TestUrgChldAndPipeStayWithDrainit(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1}, "a[URG,CHLD,PIPE,USR1,TERM=7](b[URG,CHLD,PIPE])", "a b")
		for range 20 {
			for _, sig := range []syscall.Signal{unix.SIGURG, unix.SIGCHLD, unix.SIGPIPE} {
				p.signal(sig)
			}
		}
		p.signal(unix.SIGUSR1)
		p.waitOut(`^a got USR1`)
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantGots("a got USR1", "a got TERM")
	})
}

// On the way down a signal goes to the first that handles it, and to no process
// below that one.
func TestSignalGoesToTheFirstThatCatchesIt(t *testing.T) {
	for _, tc := range []struct {
		name, tree, ready string
		want              []string
	}{
		{"worker", "a[@](b[@])", "a b", []string{"a got @"}},
		{"below a worker that does not catch it", "a(b[@](c[@]))", "a b c", []string{"b got @"}},
		{"on each way down", "a(b[@](c[@]) d(e[@] f[@]) g)", "a b c d e f g", []string{"b got @", "e got @", "f got @"}},
		{"far below", "a(b(c(d(e[@]))))", "a b c d e", []string{"e got @"}},
		{"not those that ignore it", "a[-@](b[@])", "a b", []string{"b got @"}},
		{"another group", "a(b[pgrp,@](c[pgrp,@]))", "a b c", []string{"b got @"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				// All of them in one tree: each finds its own way.
				p := startTree(t, Launch{NoPID1: noPID1}, spread(tc.tree), tc.ready)
				var want []string
				for _, sig := range passedOn {
					p.signal(unix.SignalNum("SIG" + sig))
					for _, line := range tc.want {
						want = append(want, strings.ReplaceAll(line, "@", sig))
						p.waitOut(`^` + strings.ReplaceAll(line, "@", sig) + `$`)
					}
				}
				p.signal(unix.SIGTERM)
				p.wantExit(143)
				p.wantGots(want...)
			})
		})
	}
}

func TestSignalThatNoProcessHandlesGoesToTheWorker(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{
		unix.SIGUSR1: 138, unix.SIGUSR2: 140, unix.SIGHUP: 129, unix.SIGALRM: 142, unix.SIGQUIT: 131, 40: 168,
	} {
		t.Run(signals.Name(sig), func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1}, "a(b)", "a b")
				p.signal(sig)
				p.wantExit(want)
			})
		})
	}
}

// WINCH's default is to be ignored, so that one to a worker that does not
// catch it shows in nothing; but it must not hold up what follows.
func TestSignalToAWorkerThatIgnoresItDoesNothing(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1}, "a[-USR1,USR2,TERM=7]", "a")
		p.signal(unix.SIGUSR1)
		p.signal(unix.SIGWINCH)
		p.signal(unix.SIGUSR2)
		p.waitOut(`^a got USR2`)
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantGots("a got USR2", "a got TERM")
	})
}

func TestTtinAndTtouGoOnlyToThoseThatCatchThem(t *testing.T) {
	for _, mode := range []string{"auto", "group", "worker"} {
		t.Run(mode, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				// c is in a group that is not orphaned: the kernel would stop it.
				p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"--forward", mode, "--grace", "1"}},
					"a[TTIN,USR1,TERM=7](b c[pgrp])", "a b c")
				p.signal(unix.SIGTTOU)
				p.signal(unix.SIGTTIN)
				p.waitOut(`^a got TTIN`)
				p.signal(unix.SIGTTOU)
				p.signal(unix.SIGTTIN)
				waitUntil(t, "two TTIN", func() bool { return len(gots(p.out())) == 2 })
				p.wantNotStopped()
				p.signal(unix.SIGTERM)
				p.wantExit(7)
				p.wantGots("a got TTIN", "a got TTIN", "a got TERM")
			})
		})
	}
}

func TestTtinAndTtouStopNoProcess(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		// With a terminal the worker is not in an orphaned group either.
		p := startTree(t, onTerminal(t, Launch{NoPID1: noPID1}), "a[USR1](b c[pgrp])", "a b c")
		for range 5 {
			p.signal(unix.SIGTTIN)
			p.signal(unix.SIGTTOU)
		}
		p.signal(unix.SIGUSR1)
		p.waitOut(`^a got USR1`)
		p.wantNotStopped()
		p.signal(unix.SIGTERM)
		p.wantExit(143)
	})
}
