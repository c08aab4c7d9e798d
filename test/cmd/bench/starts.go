package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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
	return measureTitle(t, all, p.starts)
}

// measureTitle takes the time from the exec of drainit, as PID 1, to its first title: from
// then on no stop signal is lost. Before, the kernel drops one, or it ends drainit.
func measureTitle(t *table, all []contender, starts int) error {
	own := t.column("drainit")
	if own < 0 {
		return nil
	}
	var took []time.Duration
	for range starts {
		d, err := timeTitle(all[own].argv)
		if err != nil {
			return fmt.Errorf("drainit: %w", err)
		}
		took = append(took, d)
	}
	t.ownTime("exec to the first title, from which on no stop signal is lost, p50", quantile(took, 0.50), 2*time.Millisecond)
	return nil
}

// timeTitle is one such time. The title is asked for again and again.
func timeTitle(argv []string) (time.Duration, error) {
	s, err := spawnStaged("stamp", slices.Concat(argv, []string{"/bin/sleep", "10"}), namespaces)
	if err != nil {
		return 0, err
	}
	defer s.end()
	comm, err := os.Open(fmt.Sprintf("/proc/%d/comm", s.pid))
	if err != nil {
		return 0, err
	}
	defer comm.Close()
	for limit, b := now()+10*time.Second, make([]byte, 16); now() < limit; {
		n, _ := comm.ReadAt(b, 0)
		if at := now(); strings.HasPrefix(string(b[:n]), "drainit:") {
			begin, err := s.stamp()
			return at - begin, err
		}
		time.Sleep(20 * time.Microsecond) // the processor is drainit's, too
	}
	return 0, errors.New("it has set no title within 10 s")
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
