package signals

import (
	"slices"
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

// What is forked between a look at the group and the signal to it is signalled with it, and must
// not be signalled again when its parent has died. One that is forked after the signal counts as
// signalled as well, for no process can tell the two apart: it is killed when the grace is over.
func TestGroupModeSignalsThoseForkedMeanwhileOnce(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"-g", "-v", "--grace=8s", "--log-format=text"}, harness.Script(forkingWorker)...)})
		p.WaitOut(`^forking`)
		p.Signal(unix.SIGTERM)
		status, gots := p.Wait(), harness.Gots(p.Out())
		slices.Sort(gots)
		once := slices.Compact(slices.Clone(gots))
		over := harness.Matches(`grace period of 8s over`, p.Err()) // it may cut what they have to say
		if !over && (status != 143 || len(once) < 100) {
			t.Errorf("exit status %d, %d children were signalled", status, len(once))
		}
		if len(once) != len(gots) {
			t.Errorf("some were signalled twice: %q\nstderr:\n%s", gots, p.Err())
		}
	})
}

// The group gets each signal once, as by kill(-pgid). What has left it is a leftover when the worker
// has gone, and signalled then, if the worker can't have signalled it before.
func TestGroupModeSignalsTheWorkersGroupOnce(t *testing.T) {
	forEach(t, []string{"-g", "--forward=group"}, func(t *testing.T, flag string, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, harness.LongGrace}},
			"a[USR1](b[USR1,TERM](c[USR1]) d[-USR1] e[pgrp,USR1,TERM=0](f[USR1]))", "a b c d e f")
		b := p.PidOf("b")
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

// What a worker that has daemonized left is signalled in every mode.
func TestForkingSignalsWhatWasLeftInEveryMode(t *testing.T) {
	for _, mode := range forwardModes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Args: harness.Line([]string{"--forward", mode, "--forking", harness.LongGrace}, harness.Script(`
				$name = "daemon"; catch "TERM"; spawn { POSIX::setsid(); say "ready"; await "TERM" }`)...)})
			p.WaitOut(`^ready`)
			p.WaitErr(`runs on in`)
			wantStop(p, 0, "daemon got TERM")
		})
	}
}
