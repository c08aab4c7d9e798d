package supervisor

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drainit/internal/machine"
)

// cell is a worker, node, with one child, job; daemon is another child of drainit's. Each handles what it
// is sent, and goes on.
const (
	does = "[TERM,INT,HUP,TSTP]"
	cell = "daemon" + does + " node" + does + "(job" + does + ")"
)

// ways are the scripts into each phase. In starting the loop does not run yet, in killing node is stuck.
var ways = map[string]string{
	"starting":                    "",
	"running":                     "",
	"quiet":                       "TSTP",
	"draining, in the stop delay": "TERM; 1s",
	"draining after a stop":       "TERM; 1s",
	"draining after an exit":      "node exits 0; 1s",
	"killing":                     "TERM; 1s; TERM",
	"done":                        "end all",
}

// happenings are the scripts of what happens then.
var happenings = map[string]string{
	"TERM":                     "TERM",
	"TERM, 50ms, TERM":         "TERM; 50ms; TERM",
	"TERM, 300ms, TERM":        "TERM; 300ms; TERM",
	"INT":                      "INT",
	"TSTP":                     "TSTP",
	"CONT, 50ms":               "CONT; 50ms",
	"HUP":                      "HUP",
	"a child exits":            "daemon exits 0",
	"the worker exits 0":       "node exits 0",
	"the worker exits 3":       "node exits 3",
	"the worker dies of SEGV":  "node dies SEGV",
	"nothing is left":          "end all",
	"5s, a stop delay":         "5s",
	"25s, until the last call": "25s",
	"30s, a grace":             "30s",
}

// Every phase × event × state of /proc: the phase after it, what each process is sent and
// when, the exit status, and how long it all took from the event on. testdata/loop.txt
// says what that must be; rows that are alike for several states of /proc are one.
//
// Each cell plays up to a minute of virtual time.
func TestEachPhaseAndEventInTheLoop(t *testing.T) {
	want := readTable(t, "testdata/loop.txt")
	var got []string
	for way := range ways {
		for event := range happenings {
			got = append(got, rows(t, way, event)...)
		}
	}
	for _, row := range got {
		if !slices.Contains(want, row) {
			t.Errorf("not in testdata/loop.txt: %s", row)
		}
	}
	for _, row := range want {
		if !slices.Contains(got, row) {
			t.Errorf("it did not come so: %s", row)
		}
	}
}

// readTable reads the lines of a file that are no comments.
func readTable(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, "#") })
}

// rows plays one event in one phase, with each state of /proc.
func rows(t *testing.T, way, event string) (all []string) {
	states := make(map[string][]string) // those with the same outcome
	for _, s := range procStates {
		synctest.Test(t, func(t *testing.T) {
			outcome := playCell(t, way, happenings[event], s)
			if states[outcome] == nil {
				all = append(all, outcome)
			}
			states[outcome] = append(states[outcome], string(s))
		})
	}
	for i, outcome := range all {
		which := strings.Join(states[outcome], ", ")
		if len(all) == 1 {
			which = "any"
		}
		all[i] = fmt.Sprintf("%-27s | %-24s | %-25s | %s", way, event, which, outcome)
	}
	return all
}

// playCell plays one event in one phase.
func playCell(t *testing.T, way, script string, state procState) (outcome string) {
	flags, tree := "", cell
	switch way {
	case "draining, in the stop delay":
		flags = "--stop-delay 5s"
	case "killing":
		tree = strings.Replace(cell, " node[", " node[stuck,", 1)
	}
	b := open(t, configOf(flags), tree)
	b.w.proc = state
	b.start()
	if way == "starting" {
		b.play(script)
		b.loop()
	}
	defer b.close()
	first, since := 0, b.began
	if way != "starting" {
		b.loop()
		b.play(ways[way])
		first, since = len(b.w.delivered), time.Now()
		b.play(script)
	}
	after, end := b.s.machine.Phase(), ""
	if after >= machine.Draining {
		b.end()
		end = fmt.Sprintf(" | status %d after %v", b.s.exitCode().Status, b.took-since.Sub(b.began))
	}
	return fmt.Sprintf("%-8v | %s%s", after, cmp.Or(b.w.timeline(first, since), "-"), end)
}
