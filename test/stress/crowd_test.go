package stress

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// crowdOf is a worker with many processes of one kind below it; each way one process says
// that it got TERM, and works on.
//
//	sleepers   the worker handles TERM, the others don't
//	readers    the worker dies of TERM: a writer handles it, and orphans that read its pipe do
//	blockers   the worker dies of TERM: one child handles it, the others block every signal
//	handlers   the worker dies of TERM: all children handle it
const crowdOf = `
my ($kind, $count) = @ARGV;
pipe my $ups, my $up; pipe my $in, my $out;
sub up { syswrite $up, "." }
sub rest { POSIX::pause() while 1 }
sub deafly { $SIG{TERM} = sub { } }
my %one = (
	sleepers => sub { up; rest },
	readers => sub { deafly; close $out; up; 1 while !defined sysread $in, my $byte, 1 },
	blockers => sub { my $all = POSIX::SigSet->new; $all->fillset; POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all); up; rest },
	handlers => sub { deafly; up; rest },
);
for (1 .. $count) { spawn { $one{$kind}->() } }
if ($kind eq "sleepers") { catch "TERM"; up } else { spawn { catch "TERM"; up; rest } }
for (0 .. $count) { sysread $ups, my $byte, 1 }
close $out;
say "ready"; rest`

// busyCrowds are the kinds and how they are started. Of the last one no limit is asked for.
var busyCrowds = []struct {
	kind    string
	setup   harness.Setup
	as      []string // before the worker's command
	bounded bool
}{
	{"sleepers", harness.Setup{}, nil, true},
	{"readers", harness.Setup{}, nil, true},
	{"blockers", harness.Setup{}, nil, true},
	{"handlers", harness.Setup{Docker: true}, harness.AsNobody, false},
}

// lookedAt are the moments of the second stop signal: at a drain's begin, and about the times
// of its later snapshots.
var lookedAt = []time.Duration{
	120 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 1020 * time.Millisecond, 1500 * time.Millisecond,
}

// How late a stop signal may be acted upon with 1,000 processes, beside what drainit waits
// for a processor that others have. The aim is a fifth of it; the machine may be shared.
const lateAtMost = 500 * time.Millisecond

// While drainit looks at 1,000 processes it sees a stop signal in time, the first one as the
// second, whatever they do: its work on them is bounded. With 10,000 the figures are for the
// reader: go test ./test/stress -run AmongACrowd -v -soak.
func TestStopSignalIsSeenInTimeAmongACrowd(t *testing.T) {
	harness.Alone(t)
	harness.NeedRoot(t)
	harness.Need(t, "perl", "setpriv")
	for i, c := range busyCrowds {
		t.Run(c.kind, func(t *testing.T) { measureCrowd(t, i, 1000, c.bounded) })
		if *harness.SoakWhole {
			t.Run(c.kind+", 10,000", func(t *testing.T) { measureCrowd(t, i, 10_000, false) })
		}
	}
}

func measureCrowd(t *testing.T, crowd, count int, bounded bool) {
	var first, second []time.Duration
	for _, at := range lookedAt {
		if !bounded && at < 500*time.Millisecond { // the first may not have been acted upon by then
			continue
		}
		f, s := crowdLatency(t, crowd, count, at)
		first, second = append(first, f), append(second, s)
		if bounded && max(f, s) > lateAtMost { // each without what drainit waited for a processor
			t.Errorf("second signal %v after the first: they were acted upon %v and %v late, want at most %v", at, f, s, lateAtMost)
		}
	}
	t.Logf("%d %s: the worst of the first signal %v, of the second %v", count, busyCrowds[crowd].kind, slices.Max(first), slices.Max(second))
	t.Logf("first:  %v", first)
	t.Logf("second: %v", second)
}

// crowdLatency sends two stop signals, and returns how long it took until the first one had
// come to the process that says so, and until drainit had begun to kill by the second. Two
// that are nearer to each other than a signal may be late may pass for the same request, and
// the second may kill before the first has come: then they are as late as that, or later.
// The kernel makes one of two where drainit has not got the first by then.
// What drainit waits for a processor in the meantime is left out of both.
func crowdLatency(t *testing.T, crowd, count int, apart time.Duration) (first, second time.Duration) {
	t.Helper()
	c := busyCrowds[crowd]
	p := harness.Run(t, harness.Launch{Setup: c.setup, Args: harness.Line([]string{harness.LongGrace}, append(slices.Clone(c.as), harness.Script(crowdOf, c.kind, strconv.Itoa(count))...)...)})
	p.WaitReady()
	lateness, own := harness.LateFrom(p), harness.LateFrom(p) // of two goroutines
	began := time.Now()
	p.Signal(unix.SIGTERM)
	came := make(chan time.Duration, 1)
	go func() {
		late := lateness()
		for !gotTerm(p) && time.Since(began) < harness.Patience {
			time.Sleep(time.Millisecond)
			late = lateness()
		}
		came <- late
	}()
	time.Sleep(time.Until(began.Add(apart))) // what is tested
	between, again := own(), harness.LateFrom(p)
	pending := between < lateAtMost && harness.Comm(p.Pid()) == "drainit:run"
	p.Signal(unix.SIGTERM)
	merged := false
	harness.WaitUntil(t, "drainit has seen the second signal", func() bool {
		second = again()
		merged = pending && second > time.Second && gotTerm(p)
		return merged || harness.Comm(p.Pid()) == "drainit:kill" || !p.Running() || harness.Matches(`is the same request`, p.Stderr.Text())
	})
	if merged {
		t.Logf("of two signals %v apart the kernel made one", apart)
		p.End()
		first = <-came
		return first, first
	}
	if harness.Matches(`is the same request`, p.Stderr.Text()) {
		if between >= lateAtMost {
			t.Fatalf("a signal %v after the first passed for the same request\nstderr:\n%s", between, p.Stderr.Text())
		}
		p.End()
		return <-came, second
	}
	p.Wait()
	if !gotTerm(p) {
		if first = between; between >= lateAtMost {
			t.Errorf("no process got the first TERM within %v\nstderr:\n%s", between, p.Err())
		}
	} else {
		first = <-came
	}
	p.WantLogged(`second stop signal, force-stop: `, 1)
	return first, second
}

func gotTerm(p *harness.Init) bool { return harness.Matches(`^worker got TERM$`, p.Stdout.Text()) }

// In a drain drainit takes a fifth of what its CPU limit allows, at most, and leaves the rest
// to the worker: 1,500 processes that sleep cost it no more.
func TestDrainTakesAFifthOfItsCPULimit(t *testing.T) {
	harness.Alone(t)
	harness.Need(t, "perl")
	const milli, drain = 100, 10 * time.Second
	g := harness.NewCPUCgroup(t)
	r, release := harness.Pipe(t)
	p := g.Run(harness.Launch{Files: []*os.File{r}, Args: harness.Line([]string{harness.LongGrace}, harness.Script(harness.ManySleepers, "1500")...)})
	p.WaitReady()
	g.Limit(milli)
	before, began := harness.UsedCPU(t, p.Pid()), time.Now()
	p.Signal(unix.SIGTERM)
	time.Sleep(drain) // what is tested
	used, allowed := harness.UsedCPU(t, p.Pid())-before, time.Since(began)*milli/1000
	t.Logf("drainit took %v of %v: %s", used, allowed, percent(used, allowed))
	if used > allowed/5 {
		t.Errorf("drainit took %v of the %v that it and its worker may have: %s, want at most 20 %%", used, allowed, percent(used, allowed))
	}
	g.Lift()
	release.Close()
	p.WantExit(7)
}

func percent(part, of time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*part.Seconds()/of.Seconds())
}
