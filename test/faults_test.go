package test

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// What a fault of the kernel changes: each system call of drainit's fails once, by
// strace's tampering from outside. The table of all of them is testdata/faults.md;
//
//	go test ./test -run 'TestFaults$' -faults.table testdata/faults.md -timeout 1h
//
// adds to it, or makes it anew where it is not there, by failing each call at each of
// its places with each of its errors.
// Without the flag it is a sample, each place of each call once, with one error: none may
// cost more than the table says.
var faultsTable = flag.String("faults.table", "", "make each fault, and add what comes of it to the table in this file")

func TestFaults(t *testing.T) {
	t.Parallel()
	need(t, "strace", "dash")
	needRoot(t)
	if raced {
		skip(t, "the race detector makes system calls of its own")
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
		runWith(t, all, made.add)
		if err := os.WriteFile(*faultsTable, []byte(made.markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known, some := readFaultTable(t, "testdata/faults.md"), sample(all)
	var failed atomic.Int64
	runWith(t, some, func(t *testing.T, c cell) {
		failed.Add(1)
		if harmless := c.outcome == asWithout || c.outcome == otherLines; !harmless && !known[c] {
			t.Errorf("not in the table: %v", c)
		}
	})
	if int(failed.Load()) < len(some)*3/4 {
		t.Errorf("only %d calls have failed, of %d that were to", failed.Load(), len(some))
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
	p := launch(t, Launch{Bin: os.Args[0], Args: args, Env: []string{binariesIn + "=" + filepath.Dir(drainitBin)}})
	<-p.done // go test bounds it
	if p.status.ExitStatus() != 0 {
		t.Errorf("%s\n%s", p.out(), p.err())
	} else {
		t.Log(regexp.MustCompile(`\d+ faults`).FindString(p.out()))
	}
}

// runWithout runs each scene without a fault, for its calls and for comparison.
func runWithout(t *testing.T, scenes []*faultScene) {
	t.Run("without", func(t *testing.T) {
		for _, s := range scenes {
			t.Run(s.String(), func(t *testing.T) {
				t.Parallel()
				r := s.run(t, func(file string) []string { return []string{"-f", "-b", "execve", "-y", "-o", file} }, patience)
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
