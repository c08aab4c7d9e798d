package test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// hopping is a worker that exits with 0 on TERM and leaves a process that forks itself anew
// every few milliseconds: each of them has gone before a snapshot of it is done. Should
// nothing end it, it ends by itself.
const hopping = `
spawn {
	$SIG{TERM} = "IGNORE"; POSIX::setsid();
	my $end = time + 60; my $said;
	while (time < $end) {
		my $pid = fork;
		POSIX::_exit(0) if $pid;
		say "hops" unless $said++;
		nap 0.003;
	}
};
catch "TERM"; say "ready"; await "TERM"; exit 0`

// A stop whose grace ends with a kill is none that went well, though what was killed had
// lived for less than a snapshot: 137 and not the worker's 0.
func TestKilledInLessThanASnapshotIs137(t *testing.T) {
	need(t, "perl")
	const rounds = 10
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		for range rounds {
			p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{"--grace=300ms"}, script(hopping)...)})
			p.waitOut(`^ready`)
			p.waitOut(`^hops`)
			p.signal(unix.SIGTERM)
			p.wantExit(137)
			p.wantLogged(`grace period of 300ms over: `, 1)
			p.wantNothingLeft()
			if t.Failed() {
				return
			}
		}
	})
}
