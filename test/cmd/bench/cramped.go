package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

const (
	crampedMilli = 50 // 5 ms of each 100
	crampedCrowd = 200
	verbMilli    = 10 // 1 ms of each 100
	verbRounds   = 5  // a machine that is shared may stand still for some ms, a hundred times that here
)

// measureCramped stops each init under a limit of 50m, with 200 processes below it.
func (b *bench) measureCramped() {
	dir, err := cgroup.Make(fmt.Sprint("drainit-bench-", os.Getpid()), "cpu")
	if err != nil {
		fmt.Println("left out is what takes a CPU limit:", err)
		return
	}
	g := cgroup.CPU(dir)
	defer harness.Within(10*time.Second, func() bool { return !errors.Is(os.Remove(dir), unix.EBUSY) })
	share := b.figures()
	ways := b.withInit(1, func(i int, argv []string) (way time.Duration) {
		way, share[i] = stopCramped(g, argv, b.drain)
		return way
	})
	b.times(fmt.Sprintf("a stop signal's way under a CPU limit of 50m, %d processes, slowest", crampedCrowd), ways, 1)
	b.aim("≤ 0.2 s", quantile(ways[own], 1).Seconds(), 0.2)
	b.values(fmt.Sprintf("share of that limit in the first %v of the drain, most", b.drain), "%", share)
	b.aim("≤ 10 %", share[own], 10)
	b.measureVerbs(g)
}

// measureVerbs takes the time of drainit's verbs under a limit of 10m, which they share with
// the drainit that they ask. A verb that has no answer yet says so.
func (b *bench) measureVerbs(g cgroup.CPU) {
	rounds := verbRounds
	if b.lenient {
		rounds = 1
	}
	var words, ends []time.Duration
	for range rounds {
		for _, verb := range []string{"status", "quiet", "resume"} {
			word, end := askCramped(g, b.inits[own].argv, verb)
			words, ends = append(words, word), append(ends, end)
		}
	}
	b.ownTime("a subcommand under a CPU limit of 10m to its answer, or to its line that there is none yet, nine of ten", words, 0.9, time.Second)
	b.ownTime("a subcommand under a CPU limit of 10m to its answer, p50", ends, 0.5, 0)
	b.ownTime("the same, slowest", ends, 1, 0)
}

// askCramped is one call of a verb: the time until it ends, or says something, and until it
// ends. The one that asks is in no container: --pid says which drainit is meant.
func askCramped(g cgroup.CPU, argv []string, verb string) (word, ended time.Duration) {
	s, end := startCramped(g, verbMilli, slices.Concat(argv, []string{"/bin/sh", "-c", "trap : TSTP; echo >&3; sleep 60; :"}))
	defer end()
	ask := spawnStaged("stamp,stderr,cgroup="+string(g), []string{argv[0], verb, fmt.Sprintf("--pid=%d", s.pid)}, false)
	defer unix.Close(ask.pipe)
	begin, err := ask.stamp()
	must(err)
	must(ask.hear())
	heard := harness.Monotonic()
	ask.waitWell()
	return heard - begin, harness.Monotonic() - begin
}

// stopCramped is one stop: how long the signal takes to the worker's handler, and how much of
// its limit, in percent, the init takes in the time after it.
func stopCramped(g cgroup.CPU, argv []string, of time.Duration) (way time.Duration, share float64) {
	s, end := startCramped(g, crampedMilli, slices.Concat(argv, handling, []string{strconv.Itoa(crampedCrowd - 1)}))
	defer end()
	before := harness.RunTime(s.pid)
	way = s.timeSignal(unix.SIGTERM)
	time.Sleep(of - way)
	ran := harness.RunTime(s.pid) - before
	return way, 100 * ran.Seconds() / (crampedMilli / 1000. * of.Seconds())
}

// startCramped starts an init, as PID 1, with a worker that says when all is set, and limits
// both from then on. end takes the limit off first: to die takes time, too.
func startCramped(g cgroup.CPU, milli int, argv []string) (s *spawned, end func()) {
	must(g.Lift())
	s = spawnStaged("run,ready,cgroup="+string(g), argv, true)
	end = func() {
		_ = g.Lift()
		s.end()
	}
	time.Sleep(time.Second) // the start has an end
	must(g.Limit(milli))
	return s, end
}
