package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// batch is how many orphans come from one parent.
const batch = 500

// storming is a worker whose children each leave a batch of orphans, most of
// them dead already. It sends a byte when all have been left, and stays.
func storming(orphans int) []string {
	return []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	my ($all, $batch) = @ARGV;
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
	POSIX::pause() while 1;`, strconv.Itoa(orphans), strconv.Itoa(batch)}
}

// measureStorms lets each init reap orphans: from the first fork until none is
// left, alive or dead; the forks take most of that. The time that the init
// itself ran tells inits apart.
func measureStorms(t *table, all []contender, p plan) error {
	took, ran := newSeries(len(all)), newSeries(len(all))
	most := make([]float64, len(all))
	most[0] = none
	err := turns(all, p.storms, func(_, i int) error {
		if all[i].argv == nil {
			return nil // perl is no init
		}
		s, err := spawnFirst(slices.Concat(all[i].argv, storming(p.orphans)))
		if err != nil {
			return err
		}
		defer s.end()
		wall, cpu, children, err := s.storm()
		took.add(i, wall)
		ran.add(i, cpu)
		most[i] = max(most[i], float64(children-1))
		return err
	})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d orphans", p.orphans)
	t.times(what+": until all are reaped", took, 0.50)
	t.times(what+": CPU time of the init", ran, 0.50)
	t.values(what+": most at a time", "", most)
	return nil
}

// storm follows one storm to its end.
func (s *spawned) storm() (wall, cpu time.Duration, most int, err error) {
	if err := s.read(); err != nil { // the worker is about to begin
		return 0, 0, 0, err
	}
	begin, ranBefore := now(), cpuTime(s.pid)
	over := make(chan error, 1)
	go func() { over <- s.read() }()
	for ended := false; ; {
		n := children(s.pid)
		most = max(most, n)
		if ended && n == 1 {
			break // the worker alone
		}
		if now()-begin > 5*time.Minute {
			return 0, 0, 0, fmt.Errorf("%d orphans were not reaped in 5 minutes", n-1)
		}
		select {
		case err := <-over:
			if err != nil {
				return 0, 0, 0, err
			}
			ended = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	return now() - begin, cpuTime(s.pid) - ranBefore, most, nil
}
