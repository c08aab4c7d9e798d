package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A limit of 50m is 5 ms of each 100.
const (
	crampedShare = 0.05
	crampedCrowd = 200
)

// cgroup is one whose processes together get a part of a processor.
type cgroup struct {
	dir string
	v2  bool
}

// newCgroup makes one without a limit. The error says why there is none.
func newCgroup() (cgroup, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return cgroup{}, err
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		v1 := f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "cpu")
		if !v1 && f[2] != "cgroup2" {
			continue
		}
		g := cgroup{filepath.Join(f[1], fmt.Sprintf("drainit-bench-%d", os.Getpid())), !v1}
		if g.v2 {
			_ = os.WriteFile(filepath.Join(f[1], "cgroup.subtree_control"), []byte("+cpu"), 0) // else limit fails
		}
		if os.Mkdir(g.dir, 0o755) != nil {
			continue
		}
		if g.limit(1) == nil {
			return g, nil
		}
		g.remove()
	}
	return cgroup{}, errors.New("there is no cgroup whose CPU limit may be written")
}

// limit gives it a share of a processor.
func (g cgroup) limit(share float64) error {
	const period = 100_000 // µs
	file, text := "cpu.cfs_quota_us", strconv.Itoa(int(share*period))
	if g.v2 {
		file, text = "cpu.max", fmt.Sprint(text, " ", period)
	}
	return os.WriteFile(filepath.Join(g.dir, file), []byte(text), 0)
}

// remove removes it when its last process has gone.
func (g cgroup) remove() {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end) && errors.Is(os.Remove(g.dir), unix.EBUSY); {
		time.Sleep(10 * time.Millisecond)
	}
}

// measureCramped stops each Go init under a limit of 50m, with 200 processes below it.
func measureCramped(t *table, all []contender, p plan) error {
	g, err := newCgroup()
	if err != nil {
		fmt.Println("left out is what takes a CPU limit:", err)
		return nil
	}
	defer g.remove()
	ways, share := newSeries(len(all)), make([]float64, len(all))
	for i := range share {
		share[i] = none
	}
	err = turns(all, p.cramped, func(_, i int) error {
		if all[i].argv == nil {
			return nil
		}
		way, ran, err := g.stop(all[i].argv, p.drain)
		ways.add(i, way)
		share[i] = max(share[i], 100*ran.Seconds()/(crampedShare*p.drain.Seconds()))
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

// stop is one stop: how long the signal takes to the worker's handler, and how long the init
// runs in the time behind it.
func (g cgroup) stop(argv []string, of time.Duration) (way, ran time.Duration, err error) {
	if err := g.limit(1); err != nil {
		return 0, 0, err
	}
	s, err := spawnStaged("run,cgroup="+g.dir, slices.Concat(argv, told, []string{strconv.Itoa(crampedCrowd - 1)}), namespaces)
	if err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = g.limit(1) // to die takes time, too
		s.end()
	}()
	if err := s.read(); err != nil {
		return 0, 0, err
	}
	time.Sleep(time.Second) // the start has an end
	if err := g.limit(crampedShare); err != nil {
		return 0, 0, err
	}
	before, begin := cpuTime(s.pid), now()
	if err := unix.Kill(s.pid, unix.SIGTERM); err != nil {
		return 0, 0, os.NewSyscallError("kill", err)
	}
	if err := s.read(); err != nil {
		return 0, 0, err
	}
	way = now() - begin
	time.Sleep(of - way)
	return way, cpuTime(s.pid) - before, nil
}
