package main

import (
	"fmt"
	"os"
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
func measureWays(t *table, all []contender, p plan) error {
	for _, crowd := range []int{1, 100, p.tree} {
		ways := newSeries(len(all))
		rounds := p.ways
		if crowd == p.tree {
			rounds = max(p.ways/4, 1)
		}
		err := turns(all, rounds, func(_, i int) error {
			s, err := spawnFirst(slices.Concat(all[i].argv, handling, []string{strconv.Itoa(crowd - 1)}))
			if err != nil {
				return err
			}
			defer s.end()
			if err := s.read(); err != nil {
				return err
			}
			way, err := s.timeTerm()
			ways.add(i, way)
			return err
		})
		if err != nil {
			return err
		}
		t.times(fmt.Sprintf("a stop signal's way to the handler, %d processes, p50", crowd), ways, 0.50)
	}
	return nil
}

// timeTerm sends an init TERM, and takes the time until its worker says that it has come.
func (s *spawned) timeTerm() (time.Duration, error) {
	begin := now()
	if err := unix.Kill(s.pid, unix.SIGTERM); err != nil {
		return 0, os.NewSyscallError("kill", err)
	}
	err := s.read()
	return now() - begin, err
}
