package tree

import (
	"flag"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

var trials = flag.Int("trials", 0, "make so many trials of who is called untouched, and not some dozens")

// untouched is why drainit signals an orphan at once: a proof, by its threads, that it
// has received nothing since the stop. It must never be found of a process that its parent
// has signalled.
const untouched = "untouched since before the stop"

// throughAManager is with one more such parent between the worker and the children.
const throughAManager = "through a manager"

// How a parent signals its children and leaves.
var (
	waysToLeave = []string{"at once", "after 1 ms", "after 20 ms", throughAManager}
	waysToPass  = append(waysToLeave[:4:4], "by a thread", "by another process", "to its group")
)

// No process is signalled twice: not one of those that their parent has signalled before it
// left is called untouched, in whatever way it takes its signals.
//
//	go test ./test/tree -run TestNoSignalledProcess -v -trials 1000 -timeout 1h
func TestNoSignalledProcessIsCalledUntouched(t *testing.T) {
	t.Parallel()
	eachTrial(t, waysToPass, "passes", func(childKind) string { return "30s" }, func(r *trialRun) {
		for pid, why := range r.why {
			r.t.Errorf("%s had its TERM from its parent, and drainit signalled it too: %s", pid, why)
		}
		for pid := range r.got {
			if regexp.MustCompile(`(?m)\[` + pid + `\][^\n]*untouched`).MatchString(r.log) {
				r.t.Errorf("%s had its TERM from its parent, and is called untouched", pid)
			}
		}
	})
}

// What a parent leaves behind without a word is signalled at once where it sleeps, and
// by the last call at the latest where it wakes up or computes: in each case once. The
// runtimes of some wake up by themselves at times. The last call comes long
// after what is at once; where that is what signals them, it gives busy processes on a busy
// machine the 5 s that it can to get to their handlers.
//
//	go test ./test/tree -run TestIdleOrphan -v -trials 1000 -timeout 1h
func TestIdleOrphanIsSignalledAtOnce(t *testing.T) {
	t.Parallel()
	grace := func(k childKind) string { return map[bool]string{true: "16s", false: "24s"}[k.idle] }
	eachTrial(t, waysToLeave, "leaves", grace, func(r *trialRun) {
		for pid := range r.got {
			if why := r.why[pid]; r.kind.idle && !strings.Contains(why, untouched) {
				r.t.Errorf("%s sleeps, and drainit signalled it later: %q\n%s", pid, why, r.log)
			}
		}
	})
}

// eachTrial runs a worker with each kind of child: in one of the ways by turns, or
// as often as there are to be trials, in all of them. Each child gets TERM once.
func eachTrial(t *testing.T, ways []string, mode string, grace func(childKind) string,
	check func(r *trialRun)) {
	t.Helper()
	harness.Need(t, "python3")
	loads := []string{"idle"} // but for the other tests
	if *trials > 0 {
		loads = append(loads, "busy")
	}
	for turn, load := range loads {
		t.Run(load, func(t *testing.T) {
			if load == "busy" {
				for range 4 {
					harness.Run(t, harness.Launch{NoPID1: true, Bin: "sh",
						Args: []string{"-c", "while :; do :; done"}})
				}
			}
			for n, done := 0, 0; n < len(childKinds) || done < *trials/len(loads); n++ {
				kind := childKinds[n%len(childKinds)]
				way := ways[(n/len(childKinds)+n+2*turn)%len(ways)]
				children := kind.children
				if *trials == 0 {
					children = min(children, 3)
				}
				if done += children; *trials == 0 && !harness.Row(kind.name+mode) {
					continue
				}
				t.Run(kind.name+", "+way, func(t *testing.T) {
					if !kind.usual {
						harness.Full(t)
					}
					t.Parallel()
					r := &trialRun{t: t, kind: kind}
					r.run(way, mode, children, grace(kind))
					for pid, times := range r.got {
						if times != 1 {
							t.Errorf("%s received TERM %d times", pid, times)
						}
					}
					check(r)
					t.Logf("%d of %d were signalled by drainit: %q", len(r.why), len(r.got), r.why)
				})
			}
		})
	}
}

// trialRun is what came of a worker with some children.
type trialRun struct {
	t    *testing.T
	kind childKind
	log  string            // drainit's
	got  map[string]int    // how many TERM came to a child, by its pid
	why  map[string]string // why drainit signalled a child
}

// run starts a worker with children and asks for the stop.
func (r *trialRun) run(way, mode string, children int, grace string) {
	t := r.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "record")
	parent := func(children int, command []string) []string {
		return append([]string{"python3", harness.Repo("test/tree/testdata/untouched/parent.py"), mode, way,
			strconv.Itoa(children), file}, command...)
	}
	command := parent(children, r.kind.start(t))
	if way == throughAManager {
		command = parent(1, command)
	}
	p := harness.Run(t,
		harness.Launch{Args: harness.Line([]string{"-v", "--log-format=json", "--grace", grace}, command...)})
	record := func() string { return harness.SoFar(file) }
	harness.WaitUntil(t, "all children are ready", func() bool {
		text := record()
		return strings.Count(text, "ready ") == children && strings.Contains(text, "parent\n")
	})
	if r.kind.idle {
		settled(p)
	} else {
		time.Sleep(500 * time.Millisecond) // part of the scenario
	}
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
	p.WantNothingLeft()
	r.log = p.Err()
	r.parse(record())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("record:\n%s\nstdout:\n%s\nstderr:\n%s", record(), p.Out(), r.log)
		}
	})
}

var whySignalled = regexp.MustCompile(`^sent SIG\S+ to [^\n]*\[(\d+)\]: (.*)$`)

// parse reads the record and what drainit has sent the children.
func (r *trialRun) parse(record string) {
	r.t.Helper()
	r.got, r.why = map[string]int{}, map[string]string{}
	for l := range strings.Lines(record) {
		word, value, _ := strings.Cut(strings.TrimSpace(l), " ")
		switch word {
		case "ready":
			r.got[value] += 0
		case "signalled":
			r.got[value]++
		}
	}
	for _, l := range harness.JsonLines(r.t, r.log) {
		m := whySignalled.FindStringSubmatch(l["msg"].(string))
		if m == nil {
			continue
		}
		if _, child := r.got[m[1]]; !child {
			continue
		}
		if r.why[m[1]] != "" {
			r.t.Errorf("drainit signalled %s twice", m[1])
		}
		r.why[m[1]] = m[2]
	}
}

// childKind is a kind of program that drains from TERM, and records each that it gets.
type childKind struct {
	name     string
	command  string // the program, and its file in testdata/untouched; empty where start says it
	idle     bool   // it sleeps until it is signalled, and never wakes up by itself
	usual    bool   // it is tried in the usual tests
	children int    // how many a worker starts at most
}

// childKinds are the programs whose threads sleep, wake up or compute in every way.
var childKinds = readKinds()

func readKinds() (all []childKind) {
	for _, row := range rows.Read(rows.AtStart{}, "testdata/untouched/kinds.tsv", 4) {
		children, _ := strconv.Atoi(row[2])
		is := func(word string) bool { return strings.Contains(row[3], word) }
		all = append(all, childKind{row[0], row[1], is("idle"), is("usual"), children})
	}
	return all
}

func (k childKind) start(t *testing.T) []string {
	t.Helper()
	switch k.name {
	case "go":
		return []string{harness.WorkerBin, "drains"}
	case "java":
		return harness.Java(t, "testdata/untouched/Drains.java")
	}
	words := strings.Fields(k.command)
	harness.Need(t, words[0])
	words[1] = harness.Repo("test/tree/testdata/untouched", words[1])
	return words
}

// settled waits until no process below the init has woken up for a while, as a program
// does for some time after it has said that it is ready.
func settled(p *harness.Init) {
	p.T.Helper()
	const window = 200 * time.Millisecond
	pids, before := p.Alive(), -1
	harness.WaitUntil(p.T, "the children sleep", func() bool {
		now := 0
		for _, pid := range pids {
			now += harness.WakeUps(p.T, pid)
		}
		same := now == before
		before = now
		if !same {
			time.Sleep(window)
		}
		return same
	})
}
