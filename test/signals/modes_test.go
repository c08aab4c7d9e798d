package signals

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// forkingWorker forks as fast as it can, until it is signalled: then it dies of it, as a
// program without a handler does. Its children have its handler from their first
// moment on, and live for a while after they were signalled.
const forkingWorker = `
my ($worker, $signalled) = ($$, 0);
$SIG{TERM} = sub {
	if ($$ == $worker) { $SIG{TERM} = "DEFAULT"; kill TERM => $$; return }
	say "got TERM $$";
	$signalled = 1;
};
sub work { nap 0.05 until $signalled; nap 0.2 for 1 .. 3; POSIX::_exit(0) }
for my $n (1 .. 500) {
	my $pid = fork;
	work() if defined $pid && !$pid;
	say "forking" if $n == 100;
}
forever`

// What is forked between a look at the group and the signal to it is signalled with it,
// and must not be signalled again when its parent has died. One that is forked after the
// signal, before its parent has acted upon it, counts as signalled as well, for no process can
// tell the two apart: it is killed when the grace is over.
func TestGroupModeTellsThoseForkedMeanwhileOnce(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"-g", "-v", "--grace=8s", "--log-format=text"}, harness.Script(forkingWorker)...)})
		p.WaitOut(`^forking`)
		p.Signal(unix.SIGTERM)
		status := p.Wait()
		count := make(map[string]int)
		for _, got := range harness.Gots(p.Out()) {
			count[got]++
		}
		over := harness.Matches(`grace period of 8s over`, p.Err()) // it may cut what they have to say
		if !over && (status != 143 || len(count) < 100) {
			t.Errorf("exit status %d, %d children were signalled", status, len(count))
		}
		for got, n := range count {
			if n != 1 {
				t.Errorf("%d × %s\nstderr:\n%s", n, strings.TrimSpace(got), p.Err())
			}
		}
	})
}

// groupFlags and workerFlags are the ways to ask for a mode of --forward.
var (
	groupFlags  = []string{"-g", "--group", "--forward=group"}
	workerFlags = []string{"-c", "--single-child", "--forward=worker"}
)

func TestGroupModeTellsTheWorkersGroupOnce(t *testing.T) {
	forEach(t, groupFlags, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag}},
			"a[TERM,USR1=7](b[TERM,USR1=0] c[TERM,USR1=0](d))", "a b c d")
		p.Signal(unix.SIGTERM)
		for _, name := range []string{"a", "b", "c"} {
			p.WaitOut(`^` + name + ` got TERM`)
		}
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantGots("a got TERM", "b got TERM", "c got TERM", "a got USR1", "b got USR1", "c got USR1")
	})
}

// What has left the group is a leftover when the worker has gone, and signalled then, if the
// worker can't have signalled it before; who was signalled with the group is not signalled again.
func TestGroupModeSignalsLeftoversThatWereNotSignalled(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a(b[TERM] c[pgrp,TERM=0])", "a b c")
		b := p.PidOf("b")
		passTo(p, unix.SIGTERM, "c")
		p.WaitOut(`^b got TERM`)
		harness.Kill(t, b, unix.SIGKILL)
		p.WantExit(143)
		p.WantGots("b got TERM", "c got TERM")
	})
}

func TestGroupModePassesSignalsToTheGroup(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a[USR1](b[USR1](c[USR1]) d[-USR1] e[pgrp,USR1](f[USR1]))", "a b c d e f")
		p.Signal(unix.SIGUSR1)
		for _, name := range []string{"a", "b", "c"} {
			p.WaitOut(`^` + name + ` got USR1`)
		}
		wantStop(p, 143, "a got USR1", "b got USR1", "c got USR1")
	})
}

// As kill(-pgid) does, so that it ends those that do not handle it.
func TestGroupModeEndsThoseThatDoNotCatchASignal(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-g"}}, "a(b)", "a b")
		p.Signal(unix.SIGHUP)
		p.WantExit(129)
		p.WantNothingLeft()
	})
}

func TestWorkerModeGivesSignalsToTheWorkerAlone(t *testing.T) {
	forEach(t, workerFlags, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag}},
			"a[USR1,CONT,TERM](b[USR1,CONT,TERM,HUP] c)", "a b c")
		for _, sig := range []string{"USR1", "CONT", "TERM"} {
			p.Signal(unix.SignalNum("SIG" + sig))
			p.WaitOut(`^a got ` + sig)
		}
		p.Signal(unix.SIGHUP) // only b handles it, and a dies of it
		p.WantExit(129)
		p.WantGots("a got USR1", "a got CONT", "a got TERM")
	})
}

// drainit ends with its worker, whose leftovers are sent nothing before they are killed.
func TestWorkerModeTellsNoLeftovers(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{"-c", "--grace", "1h"}}, "a[TERM=7](b[TERM] c)", "a b c")
		wantStop(p, 7, "a got TERM")
		p.WantNothingLeft()
		if !strings.Contains(p.Err(), "killing") {
			t.Errorf("no line says who was killed:\n%s", p.Err())
		}
	})
}
