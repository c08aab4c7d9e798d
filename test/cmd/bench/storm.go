package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"drainit/test/harness"
)

// storming is a worker whose children each leave a batch of orphans, most of
// them dead already. It sends a byte when all have been left, and stays.
var storming = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	my ($all, $batch) = ($ARGV[0], 500);
	syswrite $pipe, "x";
	for (my $n = 0; $n < $all; $n += $batch) {
		my $parent = fork // die;
		if (!$parent) {
			for (1 .. $batch) { my $pid = fork // die; POSIX::_exit(0) if !$pid }
			POSIX::_exit(0);
		}
		waitpid($parent, 0);
	}
	syswrite $pipe, "x";
	POSIX::pause() while 1;`}

// measureStorms lets each init reap orphans: from the first fork until none is
// left, alive or dead; the forks take most of that. The time that the init
// itself ran tells inits apart.
func (b *bench) measureStorms() {
	ran, most := make(series, len(b.inits)), b.figures()
	took := b.withInit(b.storms, func(i int, argv []string) time.Duration {
		s := spawnReady(slices.Concat(argv, storming, []string{strconv.Itoa(b.orphans)}))
		defer s.end()
		wall, cpu, children := s.storm()
		ran[i] = append(ran[i], cpu)
		most[i] = max(most[i], float64(children-1))
		return wall
	})
	what := fmt.Sprintf("%d orphans", b.orphans)
	b.times(what+": until all are reaped", took, 0.50)
	b.times(what+": CPU time of the init", ran, 0.50)
	b.values(what+": most at a time", "", most)
}

// storm follows one storm, which is about to begin, to its end.
func (s *spawned) storm() (wall, cpu time.Duration, most int) {
	begin, ranBefore := harness.Monotonic(), harness.RunTime(s.pid)
	over := make(chan error, 1)
	go func() { over <- s.read() }()
	for ended := false; ; {
		n := len(harness.ChildPids(s.pid))
		most = max(most, n)
		if ended && n == 1 {
			return harness.Monotonic() - begin, harness.RunTime(s.pid) - ranBefore, most // the worker alone is left
		}
		if harness.Monotonic()-begin > 5*time.Minute {
			must(fmt.Errorf("%d orphans were not reaped in 5 minutes", n-1))
		}
		select {
		case err := <-over:
			must(err)
			ended = true
		case <-time.After(5 * time.Millisecond):
		}
	}
}
