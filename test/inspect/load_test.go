package inspect

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A crowd of probes at a drain changes nothing for the worker, and each has a
// whole answer.
func TestManyProbesAtADrain(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	probes := harness.Of(200, 16)
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,USR1", "-end", "USR1", "-exit", "7")
	p.WaitOut(`^ready`)
	p.Signal(unix.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	var all sync.WaitGroup
	for i := range probes {
		all.Go(func() {
			switch i % 4 {
			case 0:
				p.Ask("status").Want(0, `\Adraining: drainit\[1\], `+stopPart+`1 process below it\n.*\n.* worker\n\z`, "")
			case 1:
				p.Ask("status", "--ready").Want(1, `\Adraining\n\z`, "")
			case 2:
				if s := parsed(p.Ask("status", "--json")); s.Phase != "draining" || len(s.Processes) != 1 {
					t.Errorf("%+v", s)
				}
			case 3:
				p.Ask("stop").Want(0, `\Adraining: `, `stop --force`)
			}
		})
	}
	all.Wait()
	p.Signal(unix.SIGUSR1)
	p.WantExit(7)
	p.WantGots("got SIGTERM", "got SIGUSR1")
}

// Liveness and readiness come at the same time.
func TestTwoProbesAtOnce(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP"}})
		c.WaitReady()
		for _, ready := range []int{0, 1} {
			var both sync.WaitGroup
			both.Go(func() { c.Ask("status").Want(0, `\A(running|quiet): `, "") })
			both.Go(func() { c.Ask("status", "--ready").Want(ready, `\A(running|quiet)\n\z`, "") })
			both.Wait()
			c.Ask("quiet").WantSilent()
		}
	})
}

// childrenWait is a worker with as many children as it is given.
const childrenWait = `
my $n = shift @ARGV;
for (1 .. $n) { my $pid = fork; die "cannot fork: $!" unless defined $pid; if (!$pid) { POSIX::pause() while 1 } }
say "ready"; POSIX::pause() while 1`

func TestStatusOfAWorkerWithManyChildren(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "perl")
	children := harness.Of(2000, 100)
	p := harness.Start(t, harness.Line([]string{"--grace=0"}, harness.Script(childrenWait, strconv.Itoa(children))...)...)
	p.WaitReady()
	inPhase{"running", false, children + 1}.check(t, p.Ask)
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
	p.WantNothingLeft()
}

// What needs no list looks at drainit alone: under a CPU limit the look at each process of a
// crowd takes seconds.
func TestVerbsLookAtNoOtherProcess(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "strace")
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,USR1", "-end", "USR1")
	p.WaitOut(`^ready`)
	p.WaitTitle("drainit:run")
	for _, step := range []struct {
		verb  string
		lists bool
	}{
		{"status", true}, {"status --ready", false}, {"status --ready --pid 1", false},
		{"status --ready --json", true},
		{"quiet", false}, {"quiet --pid 1", false}, {"resume", false},
		{"stop", false},
		{"stop", true}, // in a drain it prints the status
	} {
		if step.verb == "stop" && step.lists {
			p.WaitTitle("drainit:drain")
		}
		args := append([]string{"-f", "-e", "trace=openat", harness.DrainitBin}, strings.Fields(step.verb)...)
		a := p.AskAs(harness.Ask{Bin: "strace", Args: args})
		if lists := strings.Contains(a.Err, `"/proc", `); lists != step.lists {
			t.Errorf("%s lists all processes: %v, want %v; it opens\n%s", step.verb, lists, step.lists, a.Err)
		}
	}
}
