package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"-g", "-v", "--grace=8s", "--log-format=text"}, script(forkingWorker)...)})
		p.waitOut(`^forking`)
		p.signal(unix.SIGTERM)
		p.wantExit(143)
		count := make(map[string]int)
		for _, got := range gots(p.out()) {
			count[got]++
		}
		if len(count) < 100 {
			t.Errorf("only %d children were signalled", len(count))
		}
		for got, n := range count {
			if n != 1 {
				t.Errorf("%d × %s\nstderr:\n%s", n, strings.TrimSpace(got), p.err())
			}
		}
	})
}
