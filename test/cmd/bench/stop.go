package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
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
// no process signals the jobs, they end with the init: what they had in hand is lost. So
// drainit is compared to the least init that signals all, too.
func measureStops(t *table, inits []contender, p plan) error {
	minimal := t.column("minimal Go")
	toAll := contender{"minimal Go -all", append(slices.Clip(inits[minimal].argv), "-all")}
	for _, tree := range []struct {
		name   string
		tells  string
		needed time.Duration
		most   float64 // times the quickest peer's, 0 for any
	}{
		{"tree of %d whose worker signals them", "1", 0, 0},
		{"tree of %d whose worker does not", "0", 0, 4},
		{"tree of %d, jobs of 0.1 s, whose worker does not", "0", 100 * time.Millisecond, 0},
	} {
		all := inits
		if tree.tells == "0" {
			all = append(slices.Clip(inits), toAll)
		}
		took := newSeries(len(all))
		least := make([]float64, len(all))
		for i := range least {
			least[i] = float64(p.tree)
		}
		least[0] = none
		worker := slices.Concat(stopping, []string{tree.tells, strconv.Itoa(p.tree - 1), fmt.Sprint(tree.needed.Seconds())})
		err := turns(all, p.stops, func(_, i int) error {
			if all[i].argv == nil {
				return nil
			}
			d, kept, err := timeStop(slices.Concat(all[i].argv, worker), p.tree)
			took.add(i, d)
			least[i] = min(least[i], float64(kept))
			return err
		})
		if err != nil {
			return err
		}
		name := fmt.Sprintf(tree.name, p.tree)
		t.times("stop of a "+name+", p50", took[:len(inits)], 0.50)
		if tree.most > 0 {
			t.ratioAim(took, 0.50, tree.most, "the quickest peer", t.peers()...)
		}
		t.values(fmt.Sprintf("jobs of %d that ended well, at least", p.tree-1), "", least[:len(inits)])
		if tree.tells == "1" {
			continue
		}
		if kept := int(least[len(inits)]); kept != p.tree-1 {
			return fmt.Errorf("%s: %d jobs ended well", toAll.name, kept)
		}
		alike := newSeries(len(inits))
		for _, i := range []int{t.ref, t.column("drainit")} {
			alike[i] = took[i]
		}
		alike[minimal] = took[len(inits)]
		t.times("the same, where minimal Go signals the worker's group and waits for all", alike, 0.50)
	}
	return nil
}

// timeStop is one stop of so many processes; kept is how many jobs ended well.
func timeStop(argv []string, processes int) (took time.Duration, kept int, err error) {
	s, err := spawnFirst(argv)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(s.pipe)
	for range processes {
		if err := s.read(); err != nil {
			s.end()
			return 0, 0, err
		}
	}
	begin := now()
	if err := unix.Kill(s.pid, unix.SIGTERM); err != nil {
		return 0, 0, os.NewSyscallError("kill", err)
	}
	if _, err := s.waitStatus(); err != nil {
		return 0, 0, err
	}
	took = now() - begin
	all, err := s.rest()
	return took, len(all), err
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
func measureDrains(t *table, all []contender, p plan) error {
	never := filepath.Join(p.dir, "never")
	if err := unix.Mkfifo(never, 0o600); err != nil {
		return os.NewSyscallError("mkfifo", err)
	}
	for _, crowd := range []struct {
		of    int
		share float64 // of a processor, at most
	}{{3000, 2}, {p.crowd, 5}} {
		share, memory := make([]float64, len(all)), make([]float64, len(all))
		err := turns(all, 1, func(_, i int) error {
			share[i], memory[i] = none, none
			if all[i].argv == nil {
				return nil
			}
			ran, rss, err := drain(all[i], never, crowd.of, p.drain)
			share[i], memory[i] = 100*ran.Seconds()/p.drain.Seconds(), rss
			return err
		})
		if err != nil {
			return err
		}
		t.values(fmt.Sprintf("share of a processor in the first %v of a drain with %d processes", p.drain, crowd.of), "%", share)
		t.valueAim(share, crowd.share, fmt.Sprintf("≤ %s %%", figure(crowd.share)))
		if crowd.of == p.crowd {
			t.values(fmt.Sprintf("memory, VmRSS, then, with %d", crowd.of), "kB", memory)
			t.valueAim(memory, 16_000, "≤ 16000 kB")
		}
	}
	return nil
}

// drain is one such drain: how long the init ran, and its memory in kB at the end.
func drain(c contender, never string, crowd int, of time.Duration) (ran time.Duration, rss float64, err error) {
	s, err := spawnFirst(slices.Concat(c.argv, crowding, []string{never, strconv.Itoa(crowd - 1)}))
	if err != nil {
		return 0, none, err
	}
	defer s.end()
	if err := s.read(); err != nil {
		return 0, none, err
	}
	before := cpuTime(s.pid)
	if err := unix.Kill(s.pid, unix.SIGTERM); err != nil {
		return 0, none, os.NewSyscallError("kill", err)
	}
	time.Sleep(of)
	return cpuTime(s.pid) - before, float64(readStatus(s.pid, "status")["VmRSS"]), nil
}
