package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"drainit/test/cgroup"
)

const (
	crampedMilli = 50 // 5 ms of each 100
	crampedCrowd = 200
)

// measureCramped stops each Go init under a limit of 50m, with 200 processes below it.
func measureCramped(t *table, all []contender, p plan) error {
	g, err := cgroup.NewCPU(fmt.Sprint("drainit-bench-", os.Getpid()))
	if err != nil {
		fmt.Println("left out is what takes a CPU limit:", err)
		return nil
	}
	defer remove(g)
	ways, share := newSeries(len(all)), make([]float64, len(all))
	for i := range share {
		share[i] = none
	}
	err = turns(all, p.cramped, func(_, i int) error {
		if all[i].argv == nil {
			return nil
		}
		way, ran, err := stopCramped(g, all[i].argv, p.drain)
		ways.add(i, way)
		share[i] = max(share[i], 100*ran.Seconds()/(crampedMilli/1000.*p.drain.Seconds()))
		return err
	})
	if err != nil {
		return err
	}
	t.times(fmt.Sprintf("a stop signal's way under a CPU limit of 50m, %d processes, slowest", crampedCrowd), ways, 1)
	if own := t.column("drainit"); own >= 0 {
		t.aim("≤ 0.2 s", quantile(ways[own], 1).Seconds(), 0.2)
	}
	t.values(fmt.Sprintf("share of that limit in the first %v of the drain, most", p.drain), "%", share)
	t.valueAim(share, 10, "≤ 10 %")
	return nil
}

// stopCramped is one stop: how long the signal takes to the worker's handler, and how long
// the init runs in the time behind it.
func stopCramped(g cgroup.CPU, argv []string, of time.Duration) (way, ran time.Duration, err error) {
	if err := g.Lift(); err != nil {
		return 0, 0, err
	}
	s, err := spawnStaged("run,cgroup="+g.Dir, slices.Concat(argv, handling, []string{strconv.Itoa(crampedCrowd - 1)}), namespaces)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = g.Lift() // to die takes time, too
		s.end()
	}()
	if err := s.read(); err != nil {
		return 0, 0, err
	}
	time.Sleep(time.Second) // the start has an end
	if err := g.Limit(crampedMilli); err != nil {
		return 0, 0, err
	}
	before := cpuTime(s.pid)
	if way, err = s.timeTerm(); err != nil {
		return 0, 0, err
	}
	time.Sleep(of - way)
	return way, cpuTime(s.pid) - before, nil
}

// remove removes a cgroup when its last process has gone.
func remove(g cgroup.CPU) {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && g.Busy(); {
		time.Sleep(10 * time.Millisecond)
	}
}
