package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"drainit/internal/machine"
)

// ways are the scripts into each phase. In starting the loop does not run yet, in killing node is stuck.
var ways = map[string]string{
	"starting": "", "running": "", "quiet": "TSTP", "stop delay": "TERM; 1s", "drain": "TERM; 1s",
	"drain after an exit": "node exits 0; 1s", "killing": "TERM; 1s; TERM", "done": "end all",
}

// events are the scripts of what happens then. The times last until the end of a stop delay, the last call,
// and the end of a grace.
var events = []string{"TERM", "TERM; 50ms; TERM", "TERM; 300ms; TERM", "INT", "TSTP", "CONT; 50ms", "HUP",
	"daemon exits 0",
	"node exits 0", "node exits 3", "node dies SEGV", "end all", "5s", "25s", "30s"}

// cell is an event in a phase, by the state of /proc.
type cell struct{ way, event, proc string }

// Every phase × event × state of /proc: the phase after it, what each process is sent and when, the exit
// status, and how long it all took from the event on. testdata/loop.txt says what that must be.
//
// Each cell plays up to a minute of virtual time.
func TestEachPhaseAndEventInTheLoop(t *testing.T) {
	want := readTable(t)
	for way := range ways {
		for _, event := range events {
			for _, state := range procStates {
				synctest.Test(t, func(t *testing.T) {
					c := cell{way, event, state}
					if got := c.play(t); got != want[c] {
						t.Errorf("%q: %s, want %s", c, got, want[c])
					}
					delete(want, c)
				})
			}
		}
	}
	if len(want) > 0 {
		t.Errorf("no such cells: %q", want)
	}
}

// readTable reads the outcome of each cell. A row may have several phases, events and states of /proc.
func readTable(t *testing.T) map[cell]string {
	t.Helper()
	text := known(os.ReadFile("testdata/loop.txt"))
	table := make(map[cell]string)
	every := [][]string{slices.Collect(maps.Keys(ways)), events, procStates}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		columns, names := strings.SplitN(strings.TrimSpace(line), " | ", 4), slices.Clone(every)
		for i, column := range columns[:3] {
			if column = strings.TrimSpace(column); column != "any" {
				names[i] = strings.Split(column, ", ")
			}
		}
		for _, way := range names[0] {
			for _, event := range names[1] {
				for _, state := range names[2] {
					if c := (cell{way, event, state}); table[c] != "" {
						t.Errorf("%q is there twice", c)
					} else {
						table[c] = columns[3]
					}
				}
			}
		}
	}
	return table
}

// play plays the event. Each process handles what it is sent, and goes on.
func (c cell) play(t *testing.T) (outcome string) {
	const does = "TERM,INT,HUP,TSTP]"
	flags, node := "", " node["
	switch c.way {
	case "stop delay":
		flags = "--stop-delay 5s"
	case "killing":
		node = " node[stuck,"
	}
	b := open(t, configOf(flags), "daemon["+does+node+does+"(job["+does+")")
	b.w.proc = c.proc
	b.start()
	if c.way == "starting" {
		b.play(c.event)
		b.loop()
	}
	defer b.close()
	first, since := 0, b.began
	if c.way != "starting" {
		b.loop()
		b.play(ways[c.way])
		first, since = len(b.w.delivered), time.Now()
		b.play(c.event)
	}
	after, end := b.s.machine.Phase(), ""
	if after >= machine.Draining {
		b.end()
		end = fmt.Sprintf(" | status %d after %v", b.s.exitCode().Status, b.took-since.Sub(b.began))
	}
	return fmt.Sprintf("%v | %s%s", after, cmp.Or(b.w.timeline(first, since), "-"), end)
}
