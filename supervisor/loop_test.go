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

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
)

// cell is a bubble whose worker, node, has one child, job; daemon is another child of
// drainit's. Each handles what it is sent, and goes on.
type cell struct {
	*bubble
	node, job, daemon *process
}

// way is a way into a phase. The worker is started, and the loop runs, unless the phase is
// the one before it does.
type way struct {
	name string
	into func(*cell)
}

var ways = []way{
	{"starting", nil},
	{"running", func(*cell) {}},
	{"quiet", func(c *cell) { c.other(unix.SIGTSTP) }},
	{"draining, in the stop delay", func(c *cell) { c.stop(unix.SIGTERM); c.after(time.Second) }},
	{"draining after a stop", func(c *cell) { c.stop(unix.SIGTERM); c.after(time.Second) }},
	{"draining after an exit", func(c *cell) { c.node.exit(0); c.after(time.Second) }},
	{"killing", func(c *cell) { c.node.undying = true; c.twice(time.Second) }},
	{"done", func(c *cell) { c.w.endAll(); c.end() }},
}

const stopDelay = 5 * time.Second // of the way that has one

// happening is an event of the world outside.
type happening struct {
	name string
	do   func(*cell)
}

var happenings = []happening{
	{"TERM", func(c *cell) { c.stop(unix.SIGTERM) }},
	{"TERM, 50ms, TERM", func(c *cell) { c.twice(50 * time.Millisecond) }},
	{"TERM, 300ms, TERM", func(c *cell) { c.twice(300 * time.Millisecond) }},
	{"INT", func(c *cell) { c.stop(unix.SIGINT) }},
	{"TSTP", func(c *cell) { c.other(unix.SIGTSTP) }},
	{"CONT, 50ms", func(c *cell) { c.other(unix.SIGCONT); c.after(machine.ResumeAfter) }},
	{"HUP", func(c *cell) { c.other(unix.SIGHUP) }},
	{"a child exits", func(c *cell) { c.daemon.exit(0) }},
	{"the worker exits 0", func(c *cell) { c.node.exit(0) }},
	{"the worker exits 3", func(c *cell) { c.node.exit(3) }},
	{"the worker dies of SEGV", func(c *cell) { c.node.dies(unix.SIGSEGV) }},
	{"nothing is left", func(c *cell) { c.w.endAll() }},
	{"5s, a stop delay", func(c *cell) { c.after(stopDelay) }},
	{"25s, until the last call", func(c *cell) { c.after(25 * time.Second) }},
	{"30s, a grace", func(c *cell) { c.after(30 * time.Second) }},
}

func (c *cell) twice(apart time.Duration) {
	c.stop(unix.SIGTERM)
	c.after(apart)
	c.stop(unix.SIGTERM)
}

// Every phase × event × state of /proc: the phase after it, what each process is sent and
// when, the exit status, and how long it all took from the event on. testdata/loop.txt
// says what that must be; rows that are alike for several states of /proc are one.
//
// Each cell plays up to a minute of virtual time.
func TestEachPhaseAndEventInTheLoop(t *testing.T) {
	want := readTable(t, "testdata/loop.txt")
	var got []string
	for _, w := range ways {
		for _, h := range happenings {
			got = append(got, rows(t, w, h)...)
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
func rows(t *testing.T, w way, h happening) (all []string) {
	states := make(map[string][]string) // those with the same outcome
	for _, s := range procStates {
		synctest.Test(t, func(t *testing.T) {
			outcome := playCell(t, w, h, s)
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
		all[i] = fmt.Sprintf("%-27s | %-24s | %-25s | %s", w.name, h.name, which, outcome)
	}
	return all
}

// playCell plays one event in one phase.
func playCell(t *testing.T, w way, h happening, state procState) (outcome string) {
	c := openCell(t, w, state)
	c.start()
	if w.into == nil {
		h.do(c)
		c.loop()
	}
	defer c.close()
	first, since := 0, c.began
	if w.into != nil {
		c.loop()
		w.into(c)
		first, since = len(c.w.delivered), time.Now()
		h.do(c)
		c.settle()
	}
	after, end := c.s.machine.Phase(), ""
	if after >= phase.Draining {
		c.end()
		end = fmt.Sprintf(" | status %d after %v", c.s.exitCode().Status, c.took-since.Sub(c.began))
	}
	return fmt.Sprintf("%-8v | %s%s", after, cmp.Or(c.w.timeline(first, since), "-"), end)
}

func openCell(t *testing.T, w way, state procState) *cell {
	does := on{unix.SIGTERM: stays, unix.SIGINT: stays, unix.SIGHUP: stays, unix.SIGTSTP: stays}
	c := &cell{job: newProcess("job", does), daemon: newProcess("daemon", does)}
	c.node = newProcess("node", does, c.job)
	cfg := config()
	if strings.HasSuffix(w.name, "in the stop delay") {
		cfg.StopDelay = stopDelay
	}
	c.bubble = open(t, cfg, func(world *world) {
		world.worker, world.proc = c.node, state
		world.start(c.daemon)
	})
	return c
}
