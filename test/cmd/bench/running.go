package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// answering is a worker that sends a byte at its start and on each USR1. It
// sleeps in sigsuspend, so that no signal slips in between look and sleep.
var answering = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	$SIG{USR1} = sub { syswrite $pipe, "x" };
	sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1));
	syswrite $pipe, "x";
	sigsuspend(POSIX::SigSet->new) while 1;`}

// measureRunning starts all inits with a worker, looks at them while there is
// nothing to do, and sends signals.
func measureRunning(t *table, all []contender, p plan) error {
	running, err := startAll(all)
	if err == nil {
		err = measureIdle(t, running, p.idle)
	}
	endAll(running)
	if err != nil {
		return err
	}
	return measureSignals(t, all, p)
}

// measureSignals sends signals: to one init after the other, each when the worker
// of the one before has answered. In each part of the run there are new ones, for
// on which threads a Go program has settled makes a difference that lasts.
func measureSignals(t *table, all []contender, p plan) error {
	ways := newSeries(len(all))
	for range parts {
		running, err := startAll(all)
		if err == nil {
			err = turns(all, p.signals/parts, func(_, i int) error {
				begin := now()
				if err := unix.Kill(running[i].pid, unix.SIGUSR1); err != nil {
					return os.NewSyscallError("kill", err)
				}
				err := running[i].read()
				ways.add(i, now()-begin)
				return err
			})
		}
		endAll(running)
		if err != nil {
			return err
		}
	}
	for _, q := range []struct {
		name string
		q    float64
	}{{"p50", 0.50}, {"p99", 0.99}} {
		t.times("a signal's way to the handler, "+q.name, ways, q.q)
		t.ratioAim(ways, q.q, 1.7, "minimal Go", t.column("minimal Go"))
	}
	return nil
}

// startAll starts all inits, each with a worker that has answered once.
func startAll(all []contender) (running []*spawned, err error) {
	for _, c := range all {
		s, err := spawnFirst(slices.Concat(c.argv, answering))
		if err != nil {
			return running, err
		}
		running = append(running, s)
		if err := s.read(); err != nil {
			return running, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	time.Sleep(100 * time.Millisecond) // what they do behind the worker's first byte is over
	return running, nil
}

func endAll(running []*spawned) {
	for _, s := range running {
		s.end()
	}
}

// settled is the time in which drainit has looked at the worker for the first and last time.
const settled = 11 * time.Second

// measureIdle looks at the inits, and not at their workers.
func measureIdle(t *table, running []*spawned, idle time.Duration) error {
	time.Sleep(settled)
	before := make([]int, len(running))
	for i, s := range running {
		before[i] = switches(s.pid)
	}
	time.Sleep(idle)
	var woken, threads, rss, pss, private []float64
	for i, s := range running {
		status, memory := readStatus(s.pid, "status"), readStatus(s.pid, "smaps_rollup")
		woken = append(woken, float64(switches(s.pid)-before[i]))
		threads = append(threads, float64(status["Threads"]))
		rss = append(rss, float64(status["VmRSS"]))
		pss = append(pss, float64(memory["Pss"]))
		private = append(private, float64(memory["Private_Clean"]+memory["Private_Dirty"]))
	}
	for _, row := range []struct {
		name, unit string
		of         []float64
		most       float64
		aim        string
	}{
		{"context switches in " + idle.String() + " idle, after the first 11 s", "", woken, 0, "0"},
		{"threads", "", threads, none, ""},
		{"memory, VmRSS", "kB", rss, 4500, "≤ 4500 kB"},
		{"memory, PSS", "kB", pss, none, ""},
		{"memory, private", "kB", private, none, ""},
	} {
		row.of[0] = none // that is the worker
		t.values(row.name, row.unit, row.of)
		if row.most != none {
			t.valueAim(row.of, row.most, row.aim)
		}
	}
	return nil
}

func measureSizes(t *table, all []contender, _ plan) error {
	var sizes []float64
	for _, c := range all {
		if c.argv == nil {
			sizes = append(sizes, none)
			continue
		}
		st, err := os.Stat(c.argv[0])
		if err != nil {
			return err
		}
		sizes = append(sizes, float64(st.Size())/1e6)
	}
	t.values("size of the binary", "MB", sizes)
	t.valueAim(sizes, 3.5, "≤ 3.5 MB")
	return nil
}
