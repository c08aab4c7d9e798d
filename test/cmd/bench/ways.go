package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// handling is a worker with sleepers below it that sends a byte when all is set and when TERM
// has come to its handler.
var handling = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	my $signalled;
	my $term = POSIX::SigSet->new(SIGTERM);
	sigprocmask(SIG_BLOCK, $term);
	for (1 .. $ARGV[0]) {
		my $pid = fork // die "fork: $!";
		if (!$pid) { sigprocmask(SIG_UNBLOCK, $term); POSIX::pause() while 1 }
	}
	$SIG{TERM} = sub { syswrite $pipe, "t"; $signalled = 1 };
	syswrite $pipe, "x";
	sigsuspend(POSIX::SigSet->new) until $signalled;
	POSIX::pause() while 1;`}

// measureWays takes the way of the first stop signal, from kill(2) to the worker's handler:
// there is one for each start.
func (b *bench) measureWays() {
	for _, crowd := range []int{1, 100, b.tree} {
		rounds := b.ways
		if crowd == b.tree {
			rounds = max(b.ways/4, 1)
		}
		ways := b.turns(rounds, func(_ int, argv []string) time.Duration {
			s := spawnReady(slices.Concat(argv, handling, []string{strconv.Itoa(crowd - 1)}))
			defer s.end()
			return s.timeSignal(unix.SIGTERM)
		})
		b.times(fmt.Sprintf("a stop signal's way to the handler, %d processes, p50", crowd), ways, 0.50)
	}
}
