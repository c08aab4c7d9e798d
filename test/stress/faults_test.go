package stress

import (
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"drainit/test/harness"
)

// What a fault of the kernel changes: at each place of each system call of drainit's one call
// fails once, by strace's tampering from outside. None may cost more than the table of outcomes
// says, testdata/faults.md. Another number makes other calls fail, with other errors:
//
//	go test ./test/stress -run 'TestFaults$' -faults.seed 5 -timeout 1h
var faultsSeed = flag.Uint("faults.seed", 0, "which call fails at each place, and with which of its errors")

// cell is one call at one place, with one error and its outcome.
type cell struct{ call, place, errno, outcome string }

// knownCells are those of the table.
func knownCells(t *testing.T) map[cell]bool {
	_, rows, _ := strings.Cut(harness.TextOf(t, "testdata/faults.md"),
		"| call | of | fails with | outcome |\n|---|---|---|---|\n")
	cells := make(map[cell]bool)
	for row := range strings.Lines(rows) {
		f := strings.Split(strings.Trim(row, "|\n "), " | ")
		for _, errno := range strings.Fields(f[2]) {
			cells[cell{f[0], f[1], errno, f[3]}] = true
		}
	}
	return cells
}

func TestFaults(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace", "dash")
	harness.NeedRoot(t)
	if harness.Raced {
		harness.Skip(t, "the race detector makes system calls of its own")
	}
	if os.Getpid() != 1 {
		amongThemselves(t)
		return
	}
	scenes := faultScenes()
	runWithout(t, scenes)
	all, known := faultsOf(t, scenes), knownCells(t)
	all = slices.DeleteFunc(all, func(f fault) bool { return !harness.Row(f.String()) })
	var failed atomic.Int64
	runWith(t, all, func(t *testing.T, c cell) {
		failed.Add(1)
		if harmless := c.outcome == asWithout || c.outcome == otherLines; !harmless && !known[c] {
			t.Errorf("not in the table: %v", c) // it is for the reader to judge
		}
	})
	if n := failed.Load(); *faultsSeed == 0 && n < int64(len(all)*3/4) {
		t.Errorf("only %d calls have failed, of %d that were to", n, len(all))
	}
}

// amongThemselves runs the test anew as PID 1 of a namespace: a look at all processes
// is then a look at those of the test, and none of another test's shows in a trace.
func amongThemselves(t *testing.T) {
	args := []string{"-test.v", "-test.run", "^TestFaults$"}
	flag.Visit(func(f *flag.Flag) {
		if !slices.Contains([]string{"test.run", "test.count", "test.testlogfile"}, f.Name) {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	env := []string{harness.BinariesIn + "=" + filepath.Dir(harness.DrainitBin)}
	if harness.Of(1, 0) == 0 { // what is named by -run has each row
		env = append(env, "DRAINIT_TEST_ALL=1")
	}
	p := harness.Run(t, harness.Launch{Bin: os.Args[0], Args: args, Env: env})
	<-p.Done // go test bounds it
	if p.Status.ExitStatus() != 0 {
		t.Errorf("%s\n%s", p.Out(), p.Err())
	} else {
		t.Log(regexp.MustCompile(`\d+ faults`).FindString(p.Out()))
	}
}

// runWithout runs each scene without a fault, for its calls and for comparison. testdata/calls.md
// lists every call that drainit makes.
func runWithout(t *testing.T, scenes []*faultScene) {
	page := harness.TextOf(t, "testdata/calls.md")
	t.Run("without", func(t *testing.T) {
		for _, s := range scenes {
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				r := s.run(t, func(file string) []string {
					return []string{"-f", "-b", "execve", "-y", "-o",
						file}
				}, harness.Patience)
				if r.status != s.status {
					t.Errorf("not as it should be even without a fault: %v", r)
				}
				s.without, s.calls = r, callsIn(r.trace)
				for _, c := range s.calls {
					if !strings.Contains(page, "\n| `"+c.call+"` | ") {
						t.Errorf("drainit calls %s (%s), which is not in testdata/calls.md", c.call, c.place)
					}
				}
			})
		}
	})
}

// runWith makes faults, each in a run of its scene, and adds what came of them.
func runWith(t *testing.T, all []fault, add func(t *testing.T, c cell)) {
	t.Logf("%d faults", len(all))
	t.Run("with", func(t *testing.T) {
		for _, f := range all {
			t.Run(f.String(), func(t *testing.T) {
				t.Parallel()
				r := f.scene.run(t, f.strace, swallowed)
				failed, ok := f.made(t, r.trace)
				if !ok {
					t.Logf("another call has failed: %v", failed)
					return
				}
				outcome := r.outcome(t, f)
				for _, c := range failed {
					add(t, cell{f.call, c.place, f.errno, outcome})
				}
				if t.Failed() {
					t.Log(r)
				}
			})
		}
	})
}

// made are the calls that have failed in a run; ok is false where one of them is not
// to be made to fail. The calls of a run, or those of one thread before another's, are
// not always the same: the runtime's wake-ups are made when they are needed.
func (f fault) made(t *testing.T, trace string) (failed []made, ok bool) {
	for _, c := range callsIn(trace) {
		switch {
		case !c.failed:
		case !slices.Contains(errnosOf(t, c.call, c.place), f.errno):
			return []made{c}, false
		case !f.all || c.place == f.place: // else another thread's has failed beside
			failed = append(failed, c)
		}
	}
	return failed, true
}

// fault is one call that fails once.
type fault struct {
	scene *faultScene
	call  string
	errno string
	when  int  // the number of the call that fails, among those of that name by a thread
	all   bool // of each thread; else of the main one alone, which does all the work
	place string
}

func (f fault) String() string {
	threads := "main"
	if f.all {
		threads = "all"
	}
	return fmt.Sprintf("%v/%s/%s/%s %d", f.scene, f.call, f.errno, threads, f.when)
}

// strace is what makes the fault. From all threads it lets go of the worker when that
// begins, and has drainit's own part of the fork.
func (f fault) strace(file string) []string {
	args := []string{"-y", "-o", file, "-e", "signal=none", "-e", "trace=" + f.call,
		"-e", fmt.Sprintf("inject=%s:error=%s:when=%d", f.call, f.errno, f.when)}
	if f.all {
		args = append(args, "-f", "-b", "execve")
	}
	if path, ok := ownPaths[f.place]; ok {
		args = append(args, "-P", path)
	}
	return args
}

// often is how many calls of a thread but the main one are sure to be made again.
const often = 4

// faultsOf is one fault for each place of each call.
func faultsOf(t *testing.T, scenes []*faultScene) (all []fault) {
	at := make(map[string][]fault)
	for _, s := range scenes {
		for _, c := range s.calls {
			lone := c.place == "PR_SET_CHILD_SUBREAPER" && s.name != "signals" // an orphan would live on
			if !lone && (c.main || c.nth <= often) {
				place := c.call + " " + c.place
				at[place] = append(at[place], fault{s, c.call, "", c.nth, !c.main, c.place})
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(at)) {
		f := at[place][*faultsSeed%uint(len(at[place]))]
		errnos := errnosOf(t, f.call, f.place)
		if len(errnos) == 0 {
			continue
		}
		h := fnv.New32a()
		h.Write([]byte(place))
		f.errno = errnos[(uint(h.Sum32())+*faultsSeed)%uint(len(errnos))]
		all = append(all, f)
	}
	return all
}
