package test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A crowd of probes at a drain changes nothing for the worker, and each has a
// whole answer.
func TestManyProbesAtADrain(t *testing.T) {
	t.Parallel()
	needAsk(t)
	const probes = 200
	p := start(t, longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,USR1", "-end", "USR1", "-exit", "7")
	p.waitOut(`^ready`)
	p.signal(unix.SIGTERM)
	p.waitOut(`^got SIGTERM`)
	var all sync.WaitGroup
	for i := range probes {
		all.Go(func() {
			switch i % 4 {
			case 0:
				p.ask("status").want(0, `\Adraining: drainit\[1\], `+stopPart+`1 process below it\n.*\n.* worker\n\z`, "")
			case 1:
				p.ask("status", "--ready").want(1, `\Adraining\n\z`, "")
			case 2:
				if s := p.ask("status", "--json").parsed(); s.Phase != "draining" || len(s.Processes) != 1 {
					t.Errorf("%+v", s)
				}
			case 3:
				p.ask("stop").want(0, `\Adraining: `, `stop --force`)
			}
		})
	}
	all.Wait()
	p.signal(unix.SIGUSR1)
	p.wantExit(7)
	p.wantGots("got SIGTERM", "got SIGUSR1")
}

// Liveness and readiness come at the same time.
func TestTwoProbesAtOnce(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		for _, ready := range []int{0, 1} {
			var both sync.WaitGroup
			both.Go(func() { c.ask("status").want(0, `\A(running|quiet): `, "") })
			both.Go(func() { c.ask("status", "--ready").want(ready, `\A(running|quiet)\n\z`, "") })
			both.Wait()
			c.ask("quiet").wantSilent()
		}
	})
}

// childrenWait is a worker with as many children as it is given.
const childrenWait = `
my $n = shift @ARGV;
for (1 .. $n) { my $pid = fork; die "cannot fork: $!" unless defined $pid; if (!$pid) { POSIX::pause() while 1 } }
say "ready"; POSIX::pause() while 1`

func TestStatusOfAWorkerWithThousandsOfChildren(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "perl")
	const children = 2000
	p := start(t, line([]string{"--grace=0"}, script(childrenWait, strconv.Itoa(children))...)...)
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	inPhase{"running", false, children + 1}.check(t, p.ask)
	p.signal(unix.SIGTERM)
	p.wantExit(137)
	p.wantNothingLeft()
}

// A probe comes every few seconds, for ever: what it costs is the container's.
func TestStatusIsCheap(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "perl")
	const children, runs, atMost = 499, 5, 100 * time.Millisecond
	p := start(t, line([]string{"--grace=0"}, script(childrenWait, strconv.Itoa(children))...)...)
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	best := time.Hour
	for range runs { // the least of them is what it costs where nothing disturbs
		a := p.ask("status", "--json")
		if n := len(a.parsed().Processes); n != children+1 {
			t.Errorf("%d processes", n)
		}
		best = min(best, a.cpu)
	}
	t.Logf("%v of CPU for %d processes", best, children+1)
	if best >= atMost {
		t.Errorf("status took %v of CPU, want less than %v", best, atMost)
	}
}
