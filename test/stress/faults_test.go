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
	"sync/atomic"
	"testing"

	"drainit/test/harness"
)

// cell is one call at one place, with one error and its outcome.
type cell struct{ call, place, errno, outcome string }

// faultTable is the set of what has come of the faults so far.
type faultTable struct {
	mu    sync.Mutex
	cells map[cell]bool
}

func (ft *faultTable) add(c cell) {
	ft.mu.Lock()
	defer ft.mu.Unlock()
	ft.cells[c] = true
}

// markdown has a line for each call, place and outcome, with its errors.
func (ft *faultTable) markdown() string {
	errnos := make(map[cell][]string)
	for c := range ft.cells {
		row := cell{c.call, c.place, "", c.outcome}
		errnos[row] = append(errnos[row], c.errno)
	}
	rows := slices.SortedFunc(maps.Keys(errnos), func(a, b cell) int {
		return strings.Compare(a.call+" "+a.place+" "+a.outcome, b.call+" "+b.place+" "+b.outcome)
	})
	var b strings.Builder
	b.WriteString(aboutFaults)
	for _, e := range exceptions {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", e[0], e[1], e[2])
	}
	b.WriteString("\n| call | of | fails with | outcome |\n|---|---|---|---|\n")
	for _, r := range rows {
		slices.Sort(errnos[r])
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.call, r.place, strings.Join(errnos[r], " "), r.outcome)
	}
	return b.String()
}

// aboutFaults is what stands above the tables.
const aboutFaults = `# What a failing system call changes

Each system call that drainit makes, or the Go runtime below it, is made to fail once, at each place where it is made,
with each error that its manual names out of EINTR, EAGAIN, ENOMEM, EPERM, ESRCH, EMFILE, EIO, ENOSPC, ENOSYS and EACCES, and
those that a seccomp profile or a security module give. This file gathers what ten runs of

    go test ./test/stress -run 'TestFaults$' -faults.table testdata/faults.md -timeout 1h

have added to it, five on a quiet machine and five on a busy one, for some outcomes go by the moment; go test ./test/stress holds
drainit to a sample of it. *Aborts* is exit status 2 and
a traceback of the runtime's, which can't go on without these calls. COMMAND is the worker's file, PATH a file where it was looked for.

Not made to fail, though their manuals know an error:

| call | of | because it can fail |
|---|---|---|
`

// readFaultTable reads what markdown has written.
func readFaultTable(t *testing.T, file string) map[cell]bool {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := make(map[cell]bool)
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 4 || f[0] == "| call" || strings.HasPrefix(f[0], "|---") {
			continue
		}
		for _, errno := range strings.Fields(f[2]) {
			cells[cell{strings.TrimPrefix(f[0], "| "), f[1], errno, strings.TrimSuffix(f[3], " |")}] = true
		}
	}
	return cells
}

// What a fault of the kernel changes: each system call of drainit's fails once, by
// strace's tampering from outside. The table of all of them is testdata/faults.md;
//
//	go test ./test/stress -run 'TestFaults$' -faults.table testdata/faults.md -timeout 1h
//
// adds to it, or makes it anew where it is not there, by failing each call at each of
// its places with each of its errors. It fails where it has added anything.
// Without the flag it is a sample, each place of each call once, with one error: none may
// cost more than the table says.
var faultsTable = flag.String("faults.table", "", "make each fault, and add what comes of it to the table in this file")

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
	all := faultsOf(scenes)
	if *faultsTable != "" {
		made := &faultTable{cells: make(map[cell]bool)}
		if _, err := os.Stat(*faultsTable); err == nil {
			made.cells = readFaultTable(t, *faultsTable)
		}
		known := maps.Clone(made.cells)
		runWith(t, all, func(t *testing.T, c cell) {
			made.add(c)
			wantKnown(t, c, known) // what this run adds is for its reader to judge
		})
		if err := os.WriteFile(*faultsTable, []byte(made.markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, some := readFaultTable(t, "testdata/faults.md"), sample(all)
	var failed atomic.Int64
	runWith(t, some, func(t *testing.T, c cell) {
		failed.Add(1)
		wantKnown(t, c, known)
	})
	if int(failed.Load()) < len(some)*3/4 {
		t.Errorf("only %d calls have failed, of %d that were to", failed.Load(), len(some))
	}
}

// wantKnown accepts what costs nothing, and what the table had before this run.
func wantKnown(t *testing.T, c cell, known map[cell]bool) {
	t.Helper()
	if harmless := c.outcome == asWithout || c.outcome == otherLines; !harmless && !known[c] {
		t.Errorf("not in the table: %v", c)
	}
}

// amongThemselves runs the test anew as PID 1 of a namespace: a look at all processes
// is then a look at those of the test, and none of another test's shows in a trace.
func amongThemselves(t *testing.T) {
	args := []string{"-test.run", "^TestFaults$"}
	flag.Visit(func(f *flag.Flag) {
		// One fault is made by -run 'TestFaults/with/kill,_PID_1/read/EIO'.
		switch f.Name {
		case "test.run":
			if !strings.Contains(f.Value.String(), "/") {
				return
			}
		case "test.count", "test.testlogfile":
			return
		}
		args = append(args, "-"+f.Name+"="+f.Value.String())
	})
	args = append(args, "-test.v")
	p := harness.Run(t, harness.Launch{Bin: os.Args[0], Args: args, Env: []string{harness.BinariesIn + "=" + filepath.Dir(harness.DrainitBin)}})
	<-p.Done // go test bounds it
	if p.Status.ExitStatus() != 0 {
		t.Errorf("%s\n%s", p.Out(), p.Err())
	} else {
		t.Log(regexp.MustCompile(`\d+ faults`).FindString(p.Out()))
	}
}

// runWithout runs each scene without a fault, for its calls and for comparison.
func runWithout(t *testing.T, scenes []*faultScene) {
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
					if _, ok := systemCalls[c.call]; !ok {
						t.Errorf("drainit calls %s (%s), which is not on the list", c.call, c.place)
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
		case !slices.Contains(systemCalls[c.call].errnos(c.place), f.errno):
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

// How many calls of one name at one place are made to fail in a scene, of drainit's
// main thread and of the others, which the Go runtime, the log and the fork have.
const (
	often   = 4
	offMain = 4
)

// faultsOf are those to be made: each call at each place with each of its errors,
// and further ones there, which other work of drainit's needs, with one.
func faultsOf(scenes []*faultScene) []fault {
	var all []fault
	known := make(map[string]bool)
	for i, s := range scenes {
		times := make(map[string]int)
		for _, c := range s.calls {
			place := fmt.Sprint(c.call, " ", c.place, c.main)
			of := systemCalls[c.call].errnos(c.place)
			if c.runtime && i > 0 || len(of) == 0 || times[place] == often || !c.main && c.nth > offMain {
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

// sample is each place of each call once, with an error that depends on the place.
func sample(all []fault) []fault {
	errnos := make(map[string][]fault)
	var places []string
	for _, f := range all {
		place := f.call + " " + f.place
		of := errnos[place]
		if len(of) == 0 {
			places = append(places, place)
		}
		if len(of) == 0 || of[0].scene == f.scene && of[0].when == f.when && of[0].all == f.all {
			errnos[place] = append(of, f)
		}
	}
	var some []fault
	for _, place := range places {
		h := fnv.New32a()
		h.Write([]byte(place))
		some = append(some, errnos[place][int(h.Sum32()%uint32(len(errnos[place])))])
	}
	return some
}
