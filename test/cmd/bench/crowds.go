package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// crowds are the kinds of crowdOf. Of the last one no limit is asked for: each is signalled.
var crowds = []struct {
	kind  string
	limit time.Duration
}{{"sleepers", lateAtMost}, {"readers", lateAtMost}, {"blockers", lateAtMost}, {"handlers", 0}}

// crowdOf is a worker with many processes of one kind below it. One process sends a byte when
// it has got TERM, and works on.
//
//	sleepers   the worker handles TERM, the others don't
//	readers    the worker dies of TERM: a writer handles it, and those that read its pipe do
//	blockers   the worker dies of TERM: one child handles it, the others block every signal
//	handlers   the worker dies of TERM: all children handle it
var crowdOf = []string{"/usr/bin/perl", "-MPOSIX", "-e", `
	open(my $tells, ">&=", 3) or die;
	my ($kind, $count) = @ARGV;
	pipe(my $ups, my $up) or die;
	pipe(my $in, my $out) or die;
	sub up { syswrite $up, "." }
	sub rest { POSIX::pause() while 1 }
	sub deaf { $SIG{TERM} = sub { } }
	sub says { $SIG{TERM} = sub { syswrite $tells, "t" } }
	sub start { my $does = shift; my $pid = fork // die "fork: $!"; if (!$pid) { $does->(); POSIX::_exit(0) } }
	my %one = (
		sleepers => sub { up; rest },
		readers => sub { deaf; close $out; open(STDIN, "<&", $in) or die; up; 1 while !defined sysread STDIN, my $byte, 1 },
		blockers => sub { my $all = POSIX::SigSet->new; $all->fillset; sigprocmask(SIG_BLOCK, $all); up; rest },
		handlers => sub { deaf; up; rest },
	);
	for (2 .. $count) { start($one{$kind}) }
	if ($kind eq "sleepers") { says; up } else { start(sub { says; open(STDOUT, ">&", $out) or die; up; rest }) }
	for (1 .. $count) { sysread $ups, my $byte, 1 }
	close $out;
	syswrite $tells, "x";
	rest`}

// lookedAt are the moments of the second stop signal: at a drain's begin, and about the times
// of its later snapshots.
var lookedAt = []time.Duration{
	120 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 1020 * time.Millisecond, 1500 * time.Millisecond,
}

// lateAtMost is how late a stop signal may be acted upon amid a crowd.
const lateAtMost = 100 * time.Millisecond

// measureCrowds takes how long drainit needs to act upon a stop signal, and upon a second one,
// which forces the stop, while it looks at a crowd.
func (b *bench) measureCrowds() error {
	for _, c := range crowds {
		var first, second []time.Duration
		for _, apart := range lookedAt {
			f, s, err := stopTwice(slices.Concat(b.inits[own].argv, crowdOf, []string{c.kind, strconv.Itoa(b.tree)}), apart)
			if err != nil {
				return fmt.Errorf("%d %s: %w", b.tree, c.kind, err)
			}
			first, second = append(first, f), append(second, s)
		}
		b.ownTime(fmt.Sprintf("a stop signal's way to the handler amid %d %s, slowest", b.tree, c.kind), first, 1, c.limit)
		b.ownTime("from a second one to the begin of the kill, slowest", second, 1, c.limit)
	}
	return nil
}

// stopTwice sends two stop signals, and takes the time until the first one has come to its
// handler, and until drainit begins to kill by the second. Where the kernel has made one of the
// two, drainit was as late for the second as for the first.
func stopTwice(argv []string, apart time.Duration) (first, second time.Duration, err error) {
	s, err := spawnReady(argv)
	if err != nil {
		return 0, 0, err
	}
	defer s.end()
	begin := now()
	came := make(chan time.Duration, 1)
	go func() {
		way, _ := s.timeSignal(unix.SIGTERM) // the end of all is as late
		came <- way
	}()
	time.Sleep(apart - (now() - begin))
	const enough = 5 * time.Second
	sent := now()
	if err := s.signal(unix.SIGTERM); err != nil {
		return 0, 0, err
	}
	for !isKilling(s.pid) {
		if now()-sent > enough {
			first = <-came
			return first, first, nil
		}
		time.Sleep(time.Millisecond / 2)
	}
	second = now() - sent
	return <-came, second, nil
}

// isKilling reports whether a drainit kills, or has ended.
func isKilling(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), "(drainit:kill)") || strings.Contains(string(b), ") Z ")
}
