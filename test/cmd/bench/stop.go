package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

// stopping is a worker with jobs below it, each of which handles TERM, and then
// needs some time to end well, which it says by a byte. The worker either passes
// TERM on to all and waits for them, or is like a shell: it dies of TERM, and
// signals none. Each of them sends a byte when it is set: what a job has still to do
// for its start would be missing where it is killed.
var stopping = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $pipe, ">&=", 3) or die;
	my ($tells, $jobs, $needed) = @ARGV;
	my (@pids, $signalled);
	my $term = POSIX::SigSet->new(SIGTERM);
	sigprocmask(SIG_BLOCK, $term);
	$SIG{TERM} = sub { $signalled = 1 };
	for (1 .. $jobs) {
		my $pid = fork // die "fork: $!";
		if (!$pid) {
			syswrite $pipe, "x";
			sigsuspend(POSIX::SigSet->new) until $signalled;
			select undef, undef, undef, $needed if $needed > 0;
			syswrite $pipe, "k";
			POSIX::_exit(0);
		}
		push @pids, $pid;
	}
	$SIG{TERM} = "DEFAULT" if !$tells;
	syswrite $pipe, "x";
	sigsuspend(POSIX::SigSet->new) until $signalled;
	kill TERM => @pids;
	waitpid $_, 0 for @pids;`}

// measureStops stops trees: from TERM to the init as PID 1 until it has been
// waited for, which the kernel allows when nothing of the tree is left. Where
// no process signals the jobs, they end with the init: what they had in hand is lost.
func (b *bench) measureStops() {
	for _, tree := range []struct {
		name   string
		tells  string
		needed string // seconds
		most   float64
	}{
		{"tree of %d whose worker signals them", "1", "0", 0},
		{"tree of %d whose worker does not", "0", "0", 4},
		{"tree of %d, jobs of 0.1 s, whose worker does not", "0", "0.1", 0},
	} {
		least, worker := b.figures(), slices.Concat(stopping,
			[]string{tree.tells, strconv.Itoa(b.tree - 1), tree.needed})
		took := b.withInit(b.stops, func(i int, argv []string) time.Duration {
			d, kept := timeStop(slices.Concat(argv, worker), b.tree)
			if least[i] == none || float64(kept) < least[i] {
				least[i] = float64(kept)
			}
			return d
		})
		b.times("stop of a "+fmt.Sprintf(tree.name, b.tree)+", p50", took, 0.50)
		if tree.most > 0 {
			b.ratioAim(took, 0.50, tree.most, "the quickest peer", b.peers()...)
		}
		b.values(fmt.Sprintf("jobs of %d that ended well, at least", b.tree-1), "", least)
	}
}

// timeStop is one stop of so many processes; kept is how many jobs ended well.
func timeStop(argv []string, processes int) (took time.Duration, kept int) {
	s := spawnStaged("run", argv, true)
	defer unix.Close(s.pipe)
	for range processes {
		must(s.read())
	}
	begin := monotonic()
	s.signal(unix.SIGTERM)
	s.wait()
	took = monotonic() - begin
	all, err := s.rest()
	must(err)
	return took, len(all)
}

// crowding is a worker that stays, whatever it is sent, with processes below it
// that wait for a line from a named pipe, which never comes.
var crowding = []string{"/bin/sh", "-c", `
	exec 9<>"$1"
	i=0
	while [ $i -lt "$2" ]; do read -r x <&9 & i=$((i + 1)); done
	trap : TERM
	echo >&3
	while :; do read -r x <&9; done`, "sh"}

// measureDrains tells an init to stop that has a crowd below it, and takes the time that the
// init itself runs while the worker takes its time, and its memory then.
func (b *bench) measureDrains() {
	never := filepath.Join(b.dir, "never")
	must(unix.Mkfifo(never, 0o600))
	for _, crowd := range []struct {
		of    int
		share float64 // of a processor, at most
	}{{3000, 3.5}, {b.crowd, 5}} {
		share, memory := b.figures(), b.figures()
		b.withInit(1, func(i int, argv []string) time.Duration {
			s := spawnReady(slices.Concat(argv, crowding, []string{never, strconv.Itoa(crowd.of - 1)}))
			defer s.end()
			before := harness.RunTime(s.pid)
			s.signal(unix.SIGTERM)
			time.Sleep(b.drain)
			share[i] = 100 * (harness.RunTime(s.pid) - before).Seconds() / b.drain.Seconds()
			memory[i] = numbersOf(s.pid, "status")["VmRSS"]
			return 0
		})
		b.values(fmt.Sprintf("share of a processor in the first %v of a drain with %d processes", b.drain,
			crowd.of), "%", share)
		b.aim(fmt.Sprintf("≤ %s %%", figure(crowd.share)), share[own], crowd.share)
		if crowd.of == b.crowd {
			b.values(fmt.Sprintf("memory, VmRSS, then, with %d", crowd.of), "kB", memory)
			b.aim("≤ 22000 kB", memory[own], 22_000)
		}
	}
}

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
	b.times(fmt.Sprintf("a stop signal's way under a CPU limit of 50m, %d processes, slowest", crampedCrowd),
		ways, 1)
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
	b.ownTime("a subcommand under a CPU limit of 10m to its answer, or to its line that there is none "+
		"yet, nine of ten", words, 0.9, time.Second)
	b.ownTime("a subcommand under a CPU limit of 10m to its answer, p50", ends, 0.5, 0)
	b.ownTime("the same, slowest", ends, 1, 0)
}

// askCramped is one call of a verb: the time until it ends, or says something, and until it
// ends. The one that asks is in no container: --pid says which drainit is meant.
func askCramped(g cgroup.CPU, argv []string, verb string) (word, ended time.Duration) {
	s, end := startCramped(g, verbMilli, slices.Concat(argv,
		[]string{"/bin/sh", "-c", "trap : TSTP; echo >&3; sleep 60; :"}))
	defer end()
	ask := spawnStaged("stamp,stderr,cgroup="+string(g),
		[]string{argv[0], verb, fmt.Sprintf("--pid=%d", s.pid)}, false)
	defer unix.Close(ask.pipe)
	begin, err := ask.stamp()
	must(err)
	must(ask.hear())
	heard := monotonic()
	ask.waitWell()
	return heard - begin, monotonic() - begin
}

// stopCramped is one stop: how long the signal takes to the worker's handler, and how much of
// its limit, in percent, the init takes in the time after it.
func stopCramped(g cgroup.CPU, argv []string, of time.Duration) (way time.Duration, share float64) {
	s, end := startCramped(g, crampedMilli, slices.Concat(argv, handling,
		[]string{strconv.Itoa(crampedCrowd - 1)}))
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
