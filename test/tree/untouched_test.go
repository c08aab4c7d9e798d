package tree

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

var trials = flag.Int("trials", 0, "make so many trials of who is called untouched, with a table of all, and not some dozens")

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
	table := newTrialTable()
	loads := []string{"idle"} // but for the other tests
	if *trials > 0 {
		loads = append(loads, "busy")
	}
	eachTrial(t, waysToPass, loads, func(t *testing.T, c trialCell, children int) {
		r := c.run(t, "passes", children, "30s")
		table.add(c, r.count())
		r.wantOneTermEach()
		for pid, why := range r.signalled {
			t.Errorf("%s had its TERM from its parent, and drainit signalled it too: %s", pid, why)
		}
		for pid := range r.got {
			if regexp.MustCompile(`(?m)\[` + pid + `\][^\n]*untouched`).MatchString(r.log) {
				t.Errorf("%s had its TERM from its parent, and is called untouched", pid)
			}
		}
	})
	t.Log(table)
}

// What a parent leaves behind without a word is signalled at once where it sleeps, and
// by the last call at the latest where it wakes up or computes: in each case once. The
// runtimes of some wake up by themselves at times, which the table shows.
//
//	go test ./test/tree -run TestIdleOrphan -v -trials 1000 -timeout 1h
func TestIdleOrphanIsSignalledAtOnce(t *testing.T) {
	t.Parallel()
	table, loads := newTrialTable(), []string{"idle"}
	if *trials > 0 {
		loads = append(loads, "busy")
	}
	eachTrial(t, waysToLeave, loads, func(t *testing.T, c trialCell, children int) {
		r := c.run(t, "leaves", children, c.grace())
		table.add(c, r.count())
		r.wantOneTermEach()
		for pid := range r.got {
			if why := r.signalled[pid]; c.kind.idle && !strings.Contains(why, untouched) {
				t.Errorf("%s sleeps, and drainit signalled it later: %q\n%s", pid, why, r.log)
			}
		}
	})
	t.Log(table)
}

// grace is one whose last call comes long after what is at once; where that is what signals
// them, it gives busy processes on a busy machine the 5 s that it can to get to their handlers.
func (c trialCell) grace() string {
	if c.kind.idle {
		return "16s"
	}
	return "24s"
}

// eachTrial runs a test with each kind of child: in one of the ways by turns, or
// as often as there are to be trials, in all of them.
func eachTrial(t *testing.T, ways, loads []string, test func(t *testing.T, c trialCell, children int)) {
	t.Helper()
	harness.Need(t, "python3")
	for turn, load := range loads {
		t.Run(load, func(t *testing.T) {
			if load == "busy" {
				besideBusyLoops(t)
			}
			for n, done := 0, 0; n < len(childKinds) || done < *trials/len(loads); n++ {
				kind := childKinds[n%len(childKinds)]
				c := trialCell{kind, ways[(n/len(childKinds)+n+2*turn)%len(ways)], load}
				children := kind.children
				if *trials == 0 {
					children = min(children, 3)
				}
				done += children
				t.Run(c.kind.name+", "+c.way, func(t *testing.T) {
					if !kind.usual {
						harness.Full(t)
					}
					t.Parallel()
					harness.Need(t, kind.programs...)
					test(t, c, children)
				})
			}
		})
	}
}

// trialRun is what came of a worker with some children.
type trialRun struct {
	t         *testing.T
	log       string // drainit's
	record    string
	got       map[string]int       // how many TERM came to a child, by its pid
	signalled map[string]string    // why drainit signalled a child
	at        map[string]time.Time // and when
	left      time.Time            // when the parent left, if it did not pass TERM on
}

// run starts a worker with children and asks for the stop.
func (c trialCell) run(t *testing.T, mode string, children int, grace string) *trialRun {
	t.Helper()
	record := filepath.Join(t.TempDir(), "record")
	parent := func(children int, command []string) []string {
		return append([]string{"python3", untouchedData(t, "parent.py"), mode, c.way, strconv.Itoa(children), record}, command...)
	}
	command := parent(children, c.kind.command(t))
	if c.way == throughAManager {
		command = parent(1, command)
	}
	p := harness.Run(t, harness.Launch{Args: harness.Line([]string{"-v", "--log-format=json", "--grace", grace}, command...)})
	read := func() string {
		b, _ := os.ReadFile(record) // none yet is an empty one
		return string(b)
	}
	harness.WaitUntil(t, "all children are ready", func() bool {
		text := read()
		return strings.Count(text, "ready ") == children && strings.Contains(text, "parent\n")
	})
	if c.kind.idle {
		settled(p)
	} else {
		time.Sleep(500 * time.Millisecond) // part of the scenario
	}
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
	p.WantNothingLeft()
	r := &trialRun{t: t, log: p.Err(), record: read()}
	r.parse()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("record:\n%s\nstdout:\n%s\nstderr:\n%s", r.record, p.Out(), r.log)
		}
	})
	return r
}

// parse reads the record and what drainit has sent the children.
func (r *trialRun) parse() {
	r.t.Helper()
	r.got, r.signalled, r.at = map[string]int{}, map[string]string{}, map[string]time.Time{}
	for l := range strings.Lines(r.record) {
		word, value, _ := strings.Cut(strings.TrimSpace(l), " ")
		switch word {
		case "ready":
			r.got[value] += 0
		case "signalled":
			r.got[value]++
		case "left":
			seconds, _ := strconv.ParseFloat(value, 64)
			r.left = time.UnixMicro(int64(seconds * 1e6))
		}
	}
	why := regexp.MustCompile(`^sent SIG\S+ to [^\n]*\[(\d+)\]: (.*)$`)
	for _, l := range harness.JsonLines(r.t, r.log) {
		m := why.FindStringSubmatch(l["msg"].(string))
		if m == nil {
			continue
		}
		if _, child := r.got[m[1]]; !child {
			continue
		}
		if r.signalled[m[1]] != "" {
			r.t.Errorf("drainit signalled %s twice", m[1])
		}
		r.signalled[m[1]] = m[2]
		r.at[m[1]], _ = time.Parse(time.RFC3339Nano, l["time"].(string))
	}
}

// wantOneTermEach checks that each child has received TERM exactly once.
func (r *trialRun) wantOneTermEach() {
	r.t.Helper()
	for pid, times := range r.got {
		if times != 1 {
			r.t.Errorf("%s received TERM %d times", pid, times)
		}
	}
}

func (r *trialRun) count() trialCount {
	c := trialCount{trials: len(r.got)}
	for pid, times := range r.got {
		if strings.Contains(r.signalled[pid], untouched) {
			c.untouched++
		} else if r.signalled[pid] != "" {
			c.otherwise++
		}
		if times > 1 {
			c.twice++
		} else if times == 0 {
			c.never++
		}
		if at, signalled := r.at[pid]; signalled && !r.left.IsZero() {
			c.latest = max(c.latest, at.Sub(r.left))
		}
	}
	return c
}
