package inspect

import (
	"bytes"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/cgroup"
)

// A crowd of probes at a drain changes nothing for the worker, and each has a
// whole answer.
func TestManyProbesAtADrain(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: append([]string{harness.LongGrace}, harness.EndsByUSR1()...)})
	p.WaitOut(`^ready`)
	p.Signal(unix.SIGTERM)
	p.WaitOut(`^got SIGTERM`)
	var all sync.WaitGroup
	for range harness.Of(50, 4) {
		all.Go(func() {
			p.Ask("status").Want(0, `\Adraining: drainit\[1\], `+stopPart+
				`1 process below it\n.*\n.* worker\n\z`, "")
		})
		all.Go(func() { p.Ask("status", "--ready").Want(1, `\Adraining\n\z`, "") })
		all.Go(func() {
			if s := parsed(p.Ask("status", "--json")); s.Phase != "draining" || len(s.Processes) != 1 {
				t.Errorf("%+v", s)
			}
		})
		all.Go(func() { p.Ask("stop").Want(0, `\Adraining: `, `stop --force`) })
	}
	all.Wait()
	p.Signal(unix.SIGUSR1)
	p.WantExit(7)
	p.WantGots("got SIGTERM", "got SIGUSR1")
}

func TestStatusOfAWorkerWithManyChildren(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	children := harness.Of(2000, 100)
	p := harness.Run(t, harness.Launch{Args: harness.Line([]string{"--grace=0"}, harness.Script(
		`spawn { POSIX::pause() while 1 } for 1 .. $ARGV[0]; catch "TERM"; say "ready"; forever`,
		strconv.Itoa(children))...)})
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
	harness.Need(t, "strace")
	p := startListening(t, harness.Setup{})
	for _, step := range []struct {
		verb  string
		lists bool
	}{
		{"status", true}, {"status --ready", false}, {"status --ready --pid 1", false},
		{"status --ready --json", true},
		{"quiet", false}, {"resume", false}, {"stop", false},
	} {
		a := p.AskAs(harness.Ask{Bin: "strace"}, append(harness.Words("-f -e trace=openat DRAINIT"),
			strings.Fields(step.verb)...)...)
		if lists := strings.Contains(a.Err, `"/proc", `); lists != step.lists {
			t.Errorf("%s lists all processes: %v, want %v; it opens\n%s", step.verb, lists, step.lists, a.Err)
		}
	}
}

// A drainit that gets its turn late, for others of its CPU limit have it, is stopped all the
// same: the verb goes on until its signals have been seen, and those that the kernel kept
// for so long that they count as one request are a force-stop, for the verb waits.
func TestForcedStopOfADrainitThatGetsItsTurnLate(t *testing.T) {
	harness.Full(t)
	g := cgroup.CPU(harness.NewCgroup(t, "cpu"))
	p := harness.Run(t, harness.Launch{NoPID1: true, Under: harness.Joining(string(g)),
		Args: harness.Line([]string{harness.LongGrace, "-v"}, harness.Script(`
		$SIG{TERM} = "IGNORE";
		for (1 .. 3) { spawn { 1 while 1 } }
		say "ready"; forever`)...)})
	t.Cleanup(func() { _ = g.Lift() }) // before the end of the init, which is much work for the kernel
	p.WaitReady()
	var out bytes.Buffer
	verb := exec.Command(harness.DrainitBin, "stop", "--force", "--pid", strconv.Itoa(p.Pid()))
	verb.Stdout, verb.Stderr = &out, &out
	harness.Must(t, errors.Join(g.Limit(10), verb.Start()))
	time.Sleep(3 * time.Second) // what is tested
	if err := errors.Join(g.Lift(), verb.Wait()); err != nil {
		t.Fatalf("%v: %s%s", err, &out, p.Err())
	}
	p.WantExit(137)
	p.WantNothingLeft()
}
