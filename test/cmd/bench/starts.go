package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// measureStarts runs the smallest worker under each init, as PID 1 and not: from
// the exec of the init to the worker's first instruction, and to the moment the
// init has been waited for.
func (b *bench) measureStarts() {
	first := writeFirst(b.dir)
	for _, way := range []struct {
		name string
		pid1 bool
	}{{"as PID 1", true}, {"not as PID 1", false}} {
		begun := make(series, len(b.inits))
		ended := b.turns(b.starts, func(i int, argv []string) time.Duration {
			start, end := timeStart(append(slices.Clip(argv), first), way.pid1)
			if start > 0 {
				begun[i] = append(begun[i], start)
			}
			return end
		})
		b.times("start "+way.name+" to the worker's first instruction, p50", begun, 0.50)
		if len(begun[minimal]) > 0 {
			b.ratioAim(begun, 0.50, 1.05, "minimal Go", minimal)
		}
		b.times("the same, p99", begun, 0.99)
		b.times("start "+way.name+" to the end of both, p50", ended, 0.50)
	}
	b.measureTitle()
}

// measureTitle takes the time from the exec of drainit, as PID 1, to its first title: from
// then on no stop signal is lost. Before, the kernel drops one, or it ends drainit.
func (b *bench) measureTitle() {
	var looks []look
	for delay := 5 * time.Millisecond; len(looks) < b.starts; {
		l := lookForTitle(b.inits[own].argv, delay)
		looks = append(looks, l)
		if step := 100 * time.Microsecond; !l.titled {
			delay += step
		} else if delay > step {
			delay -= step
		}
	}
	b.ownTime("exec to the first title, from which on no stop signal is lost, p50", []time.Duration{parting(looks)}, 0.5, 3*time.Millisecond)
}

// look is a look at a drainit that starts.
type look struct {
	at     time.Duration // since its exec
	titled bool          // it had a title then
}

// lookForTitle starts drainit and looks at it once: one that looked again and again would
// take the processor from it.
func lookForTitle(argv []string, delay time.Duration) look {
	s := spawnStaged("stamp", slices.Concat(argv, []string{"/bin/sleep", "10"}), true)
	defer s.end()
	time.Sleep(delay)
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.pid))
	at := harness.Monotonic()
	must(err)
	begin, err := s.stamp()
	must(err)
	return look{at - begin, strings.HasPrefix(string(comm), "drainit:")}
}

// parting is the time that parts best those that had a title from those that had none.
func parting(looks []look) (best time.Duration) {
	slices.SortFunc(looks, func(a, b look) int { return cmp.Compare(a.at, b.at) })
	wrong, least := 0, 0 // beside those that had none, all of which are wrong at time 0
	for _, l := range looks {
		if l.titled {
			wrong++
		} else {
			wrong--
		}
		if wrong < least {
			least, best = wrong, l.at
		}
	}
	return best
}

// timeStart is one start; start is 0 where the worker does not say the time.
func timeStart(argv []string, pid1 bool) (start, end time.Duration) {
	s := spawnStaged("stamp", argv, pid1)
	defer unix.Close(s.pipe)
	s.waitWell()
	end = harness.Monotonic()
	begin, err := s.stamp()
	must(err)
	if at, err := s.stamp(); err == nil {
		start = at - begin
	}
	return start, end - begin
}
