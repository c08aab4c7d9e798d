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
	"sync"
	"testing"

	"drainit/test/harness"
)

// What a fault of the kernel changes: each system call of drainit's fails once, by
// strace's tampering from outside. The table of all of them is testdata/faults.md;
//
//	go test ./test/stress -run 'TestFaults$' -faults.table testdata/faults.md -timeout 1h
//
// adds to it by failing each call at each of its places with each of its errors, and fails
// where it has added anything.
// Without the flag it is a sample, each place of each call once, with one error: none may
// cost more than the table says.
var faultsTable = flag.String("faults.table", "", "make each fault, and add what comes of it to the table in this file")

// cell is one call at one place, with one error and its outcome.
type cell struct{ call, place, errno, outcome string }

// faultHead is the last line before the table's rows.
const faultHead = "| call | of | fails with | outcome |\n|---|---|---|---|\n"

// readCells reads the table in a page, and what stands above it.
func readCells(page string) (above string, cells map[cell]bool) {
	above, rows, _ := strings.Cut(page, faultHead)
	cells = make(map[cell]bool)
	for row := range strings.Lines(rows) {
		f := strings.Split(strings.Trim(row, "|\n "), " | ")
		for _, errno := range strings.Fields(f[2]) {
			cells[cell{f[0], f[1], errno, f[3]}] = true
		}
	}
	return above, cells
}

// writeCells has a line for each call, place and outcome, with its errors.
func writeCells(above string, cells map[cell]bool) string {
	errnos := make(map[cell][]string)
	for c := range cells {
		row := cell{c.call, c.place, "", c.outcome}
		errnos[row] = append(errnos[row], c.errno)
	}
	var rows []string
	for r, of := range errnos {
		slices.Sort(of)
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s |\n", r.call, r.place, strings.Join(of, " "), r.outcome))
	}
	slices.SortFunc(rows, func(a, b string) int {
		f, g := strings.Split(a, " | "), strings.Split(b, " | ")
		return strings.Compare(f[0]+" "+f[1]+" "+f[3], g[0]+" "+g[1]+" "+g[3])
	})
	return above + faultHead + strings.Join(rows, "")
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
	above, known := readCells(harness.TextOf(t, "testdata/faults.md"))
	made := maps.Clone(known)
	scenes := faultScenes()
	runWithout(t, scenes)
	all := faultsOf(scenes)
	if *faultsTable == "" {
		all = sample(all)
	}
	failed := 0
	var mu sync.Mutex
	runWith(t, all, func(t *testing.T, c cell) {
		mu.Lock()
		defer mu.Unlock()
		failed++
		made[c] = true
		if harmless := c.outcome == asWithout || c.outcome == otherLines; !harmless && !known[c] {
			t.Errorf("not in the table: %v", c) // it is for the reader to judge
		}
	})
	if *faultsTable != "" {
		harness.WriteFile(t, *faultsTable, []byte(writeCells(above, made)))
	} else if failed < len(all)*3/4 {
		t.Errorf("only %d calls have failed, of %d that were to", failed, len(all))
	}
}

// amongThemselves runs the test anew as PID 1 of a namespace: a look at all processes
// is then a look at those of the test, and none of another test's shows in a trace.
func amongThemselves(t *testing.T) {
	args := []string{"-test.v", "-test.run", "^TestFaults$"}
	flag.Visit(func(f *flag.Flag) {
		// One fault is made by -run 'TestFaults/with/kill,_PID_1/read/EIO'.
		one := f.Name == "test.run" && strings.Contains(f.Value.String(), "/")
		if one || !slices.Contains([]string{"test.run", "test.count", "test.testlogfile"}, f.Name) {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	p := harness.Run(t, harness.Launch{Bin: os.Args[0], Args: args, Env: []string{harness.BinariesIn + "=" + filepath.Dir(harness.DrainitBin)}})
	<-p.Done // go test bounds it
	if p.Status.ExitStatus() != 0 {
		t.Errorf("%s\n%s", p.Out(), p.Err())
	} else {
		t.Log(regexp.MustCompile(`\d+ faults`).FindString(p.Out()))
	}
}

// runWithout runs each scene without a fault, for its calls and for comparison. The docs list
// every call that drainit makes.
func runWithout(t *testing.T, scenes []*faultScene) {
	page := harness.VerificationText(t)
	t.Run("without", func(t *testing.T) {
		for _, s := range scenes {
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				r := s.run(t, func(file string) []string { return []string{"-f", "-b", "execve", "-y", "-o", file} }, harness.Patience)
				if r.status != s.status {
					t.Errorf("not as it should be even without a fault: %v", r)
				}
				s.without, s.calls = r, callsIn(r.trace)
				for _, c := range s.calls {
					if !strings.Contains(page, "\n| `"+c.call+"` | ") {
						t.Errorf("drainit calls %s (%s), which is not in docs/verification.md", c.call, c.place)
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
				failed, ok := f.made(r.trace)
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
func (f fault) made(trace string) (failed []made, ok bool) {
	for _, c := range callsIn(trace) {
		switch {
		case !c.failed:
		case !slices.Contains(errnosOf(c.call, c.place), f.errno):
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
	when  int  // the how manieth call of that name of a thread fails
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

// often is how many calls of one name at one place are made to fail in a scene, of drainit's
// main thread and of the others, which the Go runtime, the log and the fork have.
const often = 4

// faultsOf are those to be made: each call at each place with each of its errors,
// and further ones there, which other work of drainit's needs, with one.
func faultsOf(scenes []*faultScene) []fault {
	var all []fault
	known := make(map[string]bool)
	for i, s := range scenes {
		times := make(map[string]int)
		for _, c := range s.calls {
			place := fmt.Sprint(c.call, " ", c.place, c.main)
			of := errnosOf(c.call, c.place)
			if c.place == "PR_SET_CHILD_SUBREAPER" && s.name != "signals" { // an orphan would live on
				continue
			}
			if c.runtime && i > 0 || len(of) == 0 || times[place] == often || !c.main && c.nth > often {
				continue
			}
			if known[place] {
				n := (i + times[place]) % len(of)
				of = of[n : n+1]
			}
			known[place] = true
			times[place]++
			for _, errno := range of {
				all = append(all, fault{s, c.call, errno, c.nth, !c.main, c.place})
			}
		}
	}
	return all
}

// sample is the first call at each place, with an error that depends on the place.
func sample(all []fault) (some []fault) {
	seen := make(map[string]bool)
	for i, f := range all {
		place := f.call + " " + f.place
		if seen[place] {
			continue
		}
		seen[place] = true
		h := fnv.New32a()
		h.Write([]byte(place))
		some = append(some, all[i+int(h.Sum32()%uint32(len(errnosOf(f.call, f.place))))])
	}
	return some
}
