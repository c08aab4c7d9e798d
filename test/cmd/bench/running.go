package main

import (
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
// nothing to do, and sends signals: to one init after the other, each when the worker
// of the one before has answered. In each part of the run there are new ones, for
// on which threads a Go program has settled makes a difference that lasts.
func (b *bench) measureRunning() {
	b.withAll(b.measureIdle)
	ways := make(series, len(b.inits))
	for range parts {
		b.withAll(func(running []*spawned) {
			some := b.turns(b.signals/parts, func(i int, _ []string) time.Duration { return running[i].timeSignal(unix.SIGUSR1) })
			for i := range some {
				ways[i] = append(ways[i], some[i]...)
			}
		})
	}
	b.times("a signal's way to the handler, p50", ways, 0.50)
	b.ratioAim(ways, 0.50, 1.7, "minimal Go", minimal)
	b.times("a signal's way to the handler, p99", ways, 0.99)
	b.ratioAim(ways, 0.99, 1.7, "minimal Go", minimal)
}

// withAll starts all inits, each with a worker that has answered once, and ends them after do.
func (b *bench) withAll(do func(running []*spawned)) {
	var running []*spawned
	defer func() {
		for _, s := range running {
			s.end()
		}
	}()
	for _, c := range b.inits {
		b.turn = c.name
		running = append(running, spawnReady(slices.Concat(c.argv, answering)))
	}
	time.Sleep(100 * time.Millisecond) // what they do after the worker's first byte is over
	do(running)
}

// settled is the time in which drainit has looked at the worker for the first and last time.
const settled = 11 * time.Second

// measureIdle looks at the inits, and not at their workers.
func (b *bench) measureIdle(running []*spawned) {
	time.Sleep(settled)
	before := b.figures()
	for i, s := range running {
		before[i] = switches(s.pid)
	}
	time.Sleep(b.idle)
	woken, threads, rss, pss, private := b.figures(), b.figures(), b.figures(), b.figures(), b.figures()
	for i, s := range running {
		if i == noInit {
			continue // that is the worker
		}
		status, memory := numbersOf(s.pid, "status"), numbersOf(s.pid, "smaps_rollup")
		woken[i] = switches(s.pid) - before[i]
		threads[i], rss[i], pss[i] = status["Threads"], status["VmRSS"], memory["Pss"]
		private[i] = memory["Private_Clean"] + memory["Private_Dirty"]
	}
	b.values("context switches in "+b.idle.String()+" idle, after the first 11 s", "", woken)
	b.aim("0", woken[own], 0)
	b.values("threads", "", threads)
	b.values("memory, VmRSS", "kB", rss)
	b.aim("≤ 4500 kB", rss[own], 4500)
	b.values("memory, PSS", "kB", pss)
	b.values("memory, private", "kB", private)
}

func (b *bench) measureSizes() {
	sizes := b.figures()
	for i, c := range b.inits {
		if i == noInit {
			continue
		}
		st, err := os.Stat(c.argv[0])
		must(err)
		sizes[i] = float64(st.Size()) / 1e6
	}
	b.values("size of the binary", "MB", sizes)
	b.aim("≤ 3.5 MB", sizes[own], 3.5)
}
