package main

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// measureStarts runs the smallest worker under each init, as PID 1 and not: from
// the exec of the init to the worker's first instruction, and to the moment the
// init has been waited for.
func measureStarts(t *table, all []contender, p plan) error {
	first, err := writeFirst(p.dir)
	if err != nil {
		return err
	}
	for _, way := range []struct {
		name  string
		flags uintptr
	}{{"as PID 1", namespaces}, {"not as PID 1", 0}} {
		begun, ended := newSeries(len(all)), newSeries(len(all))
		err := turns(all, p.starts, func(_, i int) error {
			start, end, err := timeStart(slices.Concat(all[i].argv, []string{first}), way.flags)
			if start > 0 {
				begun.add(i, start)
			}
			ended.add(i, end)
			return err
		})
		if err != nil {
			return err
		}
		t.times("start "+way.name+" to the worker's first instruction, p50", begun, 0.50)
		t.ratioAim(begun, 0.50, 0.75, "minimal Go", t.column("minimal Go"))
		t.times("the same, p99", begun, 0.99)
		t.times("start "+way.name+" to the end of both, p50", ended, 0.50)
	}
	return nil
}

// timeStart is one start; start is 0 where the worker does not say the time.
func timeStart(argv []string, flags uintptr) (start, end time.Duration, err error) {
	s, err := spawnStaged("stamp", argv, flags)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(s.pipe)
	if err := s.wait(); err != nil {
		return 0, 0, err
	}
	end = now()
	begin, err := s.stamp()
	if err != nil {
		return 0, 0, err
	}
	if at, err := s.stamp(); err == nil {
		start = at - begin
	}
	return start, end - begin, nil
}
