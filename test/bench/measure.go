package main

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// measureStarts runs /bin/true under each init: from the exec (as PID 1) or
// the fork (not as PID 1) to the moment the init has been waited for.
func measureStarts(t *table, all []contender, p plan) error {
	first, plain := newSeries(len(all)), newSeries(len(all))
	err := turns(all, p.starts, func(_, i int) error {
		argv := slices.Concat(all[i].argv, []string{"/bin/true"})
		d, err := timeFirst(argv)
		if err != nil {
			return err
		}
		first.add(i, d)
		if d, err = timePlain(argv); err == nil {
			plain.add(i, d)
		}
		return err
	})
	t.times("start to end as PID 1, p50", first, 0.50)
	t.times("start to end as PID 1, p99", first, 0.99)
	t.times("start to end not as PID 1, p50", plain, 0.50)
	t.times("start to end not as PID 1, p99", plain, 0.99)
	return err
}

func timeFirst(argv []string) (time.Duration, error) {
	s, err := spawnFirst("stamp", argv)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s.pipe)
	if err := s.wait(); err != nil {
		return 0, err
	}
	end := now()
	begin, err := s.stamp()
	return end - begin, err
}

func timePlain(argv []string) (time.Duration, error) {
	begin := now()
	s, err := spawn(argv)
	if err != nil {
		return 0, err
	}
	defer unix.Close(s.pipe)
	err = s.wait()
	return now() - begin, err
}

// answering is a worker that sends a byte at its start and on each USR1. It
// sleeps in sigsuspend, so that no signal slips in between look and sleep.
var answering = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	$SIG{USR1} = sub { syswrite $pipe, "x" };
	sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGUSR1));
	syswrite $pipe, "x";
	sigsuspend(POSIX::SigSet->new) while 1;`}

// measureRunning starts all inits with a worker, looks at them while there is
// nothing to do, and then sends signals: to one init after the other, each
// when the worker of the one before has answered.
func measureRunning(t *table, all []contender, p plan) error {
	running := make([]*spawned, len(all))
	for i, c := range all {
		s, err := spawnFirst("run", slices.Concat(c.argv, answering))
		if err != nil {
			return err
		}
		defer s.end()
		running[i] = s
		if err := s.read(); err != nil {
			return err
		}
	}
	if err := measureIdle(t, running, p.idle); err != nil {
		return err
	}
	ways := newSeries(len(all))
	err := turns(all, p.signals, func(_, i int) error {
		begin := now()
		if err := unix.Kill(running[i].pid, unix.SIGUSR1); err != nil {
			return os.NewSyscallError("kill", err)
		}
		err := running[i].read()
		ways.add(i, now()-begin)
		return err
	})
	t.times("a signal's way to the handler, p50", ways, 0.50)
	t.times("a signal's way to the handler, p99", ways, 0.99)
	return err
}

// measureIdle looks at the inits, and not at their workers.
func measureIdle(t *table, running []*spawned, idle time.Duration) error {
	// What they do at their start, and behind the worker's first byte, is over.
	time.Sleep(2 * time.Second)
	before := make([]int, len(running))
	for i, s := range running {
		before[i] = switches(s.pid)
	}
	time.Sleep(idle)
	var woken, threads, rss, anon []float64
	for i, s := range running {
		woken = append(woken, float64(switches(s.pid)-before[i]))
		status := readStatus(s.pid)
		threads = append(threads, float64(status["Threads"]))
		rss = append(rss, float64(status["VmRSS"]))
		anon = append(anon, float64(status["RssAnon"]))
	}
	woken[0], threads[0], rss[0], anon[0] = none, none, none, none // that is the worker
	t.values("context switches in "+idle.String()+" idle", "", woken)
	t.values("threads", "", threads)
	t.values("memory, VmRSS", "KiB", rss)
	t.values("memory, of that RssAnon", "KiB", anon)
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
	return nil
}
