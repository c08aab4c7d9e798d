package workers

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"drainit/test/harness"
)

// TestMatrixOfPlainApplications has the ways that need no Node with an application in Perl,
// whose job the test ends when its handler has run: all that the matrix says holds of them too.
// Each has Docker's standard input and, in the whole of the tests, one with a shell has another; with -inputs
// it has all.
func TestMatrixOfPlainApplications(t *testing.T) {
	t.Parallel()
	var late lateRows
	late.wantFew(t)
	for i, w := range ways {
		if !w.isPlain() || !harness.Row(w.name) {
			continue
		}
		late.run(t, w, dockers)
		for k, in := range w.otherInputs() {
			if k == i%len(inputs) || *everyInput {
				late.run(t, w, in)
			}
		}
	}
}

// TestStartsThatWereFound has the application rest, as in the matrix.
func TestStartsThatWereFound(t *testing.T) {
	t.Parallel()
	var late lateRows
	late.wantFew(t)
	for _, w := range foundWays {
		late.run(t, w, dockers)
	}
}

// lateRows counts the rows whose application rested when the stop began, and those of them where it
// waits for the last call all the same.
type lateRows struct{ rows, late atomic.Int64 }

// run runs a way with the application in Perl.
func (r *lateRows) run(t *testing.T, w way, in input) {
	t.Run(strings.ReplaceAll(w.name, "node", "perl")+in.title, func(t *testing.T) {
		t.Parallel()
		harness.Need(t, "perl")
		w.need(t, true)
		if in.set != nil || w.long {
			harness.Full(t)
		}
		s := newScene(t, 0)
		s.input, s.plain = in, true
		// Else nothing shows what is in the foreground of a shell, and some wait for the last call. The line
		// about that waits for a snapshot, which a busy machine puts off.
		shows := !strings.HasSuffix(in.title, "read only")
		if !shows {
			w.begin = preferred(w.begin)
		}
		o := w.checkIn(t, s, w.grace)
		if o.over {
			t.Error("the job is over before the request")
		}
		if shows {
			r.count(t, w, o)
		}
	})
}

// count counts a row's outcome. One whose application never rests has no excuse: what the machine does
// changes nothing.
func (r *lateRows) count(t *testing.T, w way, o outcome) {
	t.Helper()
	busy := strings.Contains(w.env, "TICK=") && !*pressed
	if !o.rests && !busy {
		return
	}
	r.rows.Add(1)
	switch {
	case !o.late || w.late || w.inTurn || w.waits:
	case busy:
		t.Error("drainit signalled the application in the last call")
	default:
		r.late.Add(1)
	}
}

// wantFew checks at the end of a test that they are few: on a busy machine some application is
// still at what its start had it do.
func (r *lateRows) wantFew(t *testing.T) {
	t.Cleanup(func() {
		if late, rows := r.late.Load(), r.rows.Load(); late > 1+rows/50 {
			t.Errorf("%d of %d applications that rest wait for the last call", late, rows)
		}
	})
}

// activities keep an application from resting. Where a thread computes, the main thread rests,
// which takes the signals.
var activities = []struct{ name, env string }{
	{"a timer of 10 ms", "TICK=10"},
	{"a timer of 50 ms", "TICK=50"},
	{"a timer of 200 ms", "TICK=200"},
	{"a thread computes", "COMPUTE=1"},
}

// busyGrace has its last call at 12 s, and the final call at 14.4 s: by then the jobs that the last call has
// signalled must have ended, on a busy machine, too.
const busyGrace = 16 * time.Second

// TestApplicationsThatNeverRest has an application whose job lasts until it has been signalled:
// once, at the latest by the last call, with a line where it waits for that. The job is done, and
// nothing is killed. Each way has one of the activities, and with -inputs all.
func TestApplicationsThatNeverRest(t *testing.T) {
	t.Parallel()
	for k, w := range slices.DeleteFunc(
		slices.Concat(ways, foundWays), func(w way) bool { return w.restless == nil }) {
		w.tells = w.restless.tells
		for i, a := range activities {
			if i != k%len(activities) && !*everyInput || !harness.Row(w.name) {
				continue
			}
			t.Run(w.name+", "+a.name, func(t *testing.T) {
				t.Parallel()
				harness.Need(t, "perl")
				if !w.restless.atOnce {
					harness.Full(t)
				}
				plain := !strings.HasPrefix(w.start, "go ")
				w.need(t, plain)
				inHand(t, func(times time.Duration) outcome {
					s := newScene(t, times*shortJob)
					s.plain, s.busy = plain, true
					s.env = append(s.env, a.env)
					o := w.checkIn(t, s, busyGrace)
					if o.late && w.restless.atOnce {
						t.Errorf("drainit signalled it in the last call:\n%s", s.init.Stderr.Text())
					}
					return o
				})
			})
		}
	}
}

// endJobs ends the jobs when the handlers have run, but for those that do not count, have their
// turn later or rest and wait for the last call, and what would signal one again has had its time.
func (s *scene) endJobs(t *testing.T, w way) {
	t.Helper()
	jobs := max(w.workers, 1)
	if w.inTurn {
		jobs--
	}
	s.init.WaitErr(`what still runs after`)
	harness.WaitUntil(t, "the handlers run", func() bool {
		return w.uncounted || s.count("signalled") >= jobs ||
			!s.busy && undecided.MatchString(s.init.Stderr.Text()) || !s.init.Running()
	})
	s.init.WaitAtRest(500 * time.Millisecond)
	end, err := os.OpenFile(filepath.Join(s.dir, "end"), os.O_RDWR, 0)
	harness.Must(t, err)
	t.Cleanup(func() { end.Close() })
}

// testsAtOnce are more than in other packages: the workers wait for their jobs most of the time.
const testsAtOnce = "16"

func TestMain(m *testing.M) {
	flag.Set("test.parallel", testsAtOnce) // which the command line may set anew
	harness.Main(m)
}
