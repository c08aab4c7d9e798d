package terminal

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// record is a file that a worker writes to when its terminal may be gone.
type record struct {
	t    *testing.T
	path string
}

func newRecord(t *testing.T) record {
	t.Helper()
	return record{t, filepath.Join(t.TempDir(), "record")}
}

func (r record) text() string { return harness.SoFar(r.path) }

// wait waits until something is in the record.
func (r record) wait(text string) {
	r.t.Helper()
	harness.WaitUntil(r.t, text+" in the record", func() bool { return strings.Contains(r.text(), text) })
}

// want checks how often something is in the record, at the end.
func (r record) want(text string, want int) {
	r.t.Helper()
	if got := strings.Count(r.text(), text); got != want {
		r.t.Errorf("%q is %d times in the record, want %d:\n%s", text, got, want, r.text())
	}
}

// places are the ways in which drainit comes to have a terminal.
var places = map[string]func(t *testing.T, command string) *console.Console{
	"PID 1": func(t *testing.T, command string) *console.Console {
		return console.At(t, harness.Launch{Args: []string{"--", "sh", "-c", command}})
	},
	"session leader": func(t *testing.T, command string) *console.Console {
		return console.At(t, harness.Launch{NoPID1: true, Args: []string{"--", "sh", "-c", command}})
	},
	"under bash": func(t *testing.T, command string) *console.Console {
		c := console.AtShell(t)
		c.Enter("drainit -- sh -c '" + command + "'")
		return c
	},
	"in the background of bash": func(t *testing.T, command string) *console.Console {
		c := console.AtShell(t)
		// A bash that reads may see the end of its input before HUP, and exit without a signal to its jobs.
		c.Enter("drainit -- sh -c '" + command + "' & wait")
		return c
	},
	"in a script": func(t *testing.T, command string) *console.Console {
		return inScript(t, "drainit -- sh -c '"+command+"'; true")
	},
}

// A shell and the kernel may both send HUP, and not at once: it is one stop. The
// worker handles TERM alone, as one for containers does, and would die of HUP.
func TestTTYClosedTerminalDrains(t *testing.T) {
	t.Parallel()
	for name, start := range places {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecord(t)
			c := start(t, "exec worker listen -drain 1s >"+r.path)
			r.wait("ready ")
			c.HangUp()
			r.wait("drained")
			c.WantNothingLeft()
			r.want("got SIGTERM", 1)
		})
	}
}

// ready waits for the line of a listening worker, and returns its pid.
func (r record) ready(c *console.Console) int {
	r.t.Helper()
	r.wait("\n")
	return c.HostPid(harness.Number(r.t, strings.Fields(r.text())[1])) // behind "ready"
}

func TestTTYClosedTerminalDrainsAStoppedJob(t *testing.T) {
	t.Parallel()
	for name, shellEnds := range map[string]func(c *console.Console){
		"the terminal is closed": func(c *console.Console) { c.HangUp() },
		"the shell is killed":    func(c *console.Console) { c.Signal(unix.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRecord(t)
			c := console.AtShell(t)
			c.Enter("drainit -- sh -c 'exec worker listen -drain 500ms >" + r.path + "'")
			worker := r.ready(c)
			ctrlZ(c)
			c.WaitState(worker, "T")
			shellEnds(c)
			r.wait("drained")
			c.WantNothingLeft()
			r.want("got SIGTERM", 1)
		})
	}
}

// Those that read the terminal find it closed, whatever they are sent.
func TestTTYClosedTerminalEndsWhoReadsIt(t *testing.T) {
	harness.Need(t, "bash", "less")
	t.Parallel()
	for command, shows := range map[string]string{bashInside: `inner% `, "less lines": `7mlines`,
		"sh -c 'echo ready; read x; sleep 1d'": `^ready`} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			under := console.AtShell(t)
			under.Enter("drainit --grace 1h -- " + command)
			for _, c := range []*console.Console{under,
				console.At(t, harness.Launch{Args: []string{"--grace=1h", "--", "sh", "-c",
					"exec " + command}})} {
				c.See(shows)
				c.HangUp()
				harness.WaitUntil(c.T, "nothing is left alive", func() bool { return len(c.Alive()) == 0 })
			}
		})
	}
}

func TestTTYHangupIsPassedOnWhileTheTerminalExists(t *testing.T) {
	t.Parallel()
	r := newRecord(t)
	c := places["under bash"](t, "exec worker listen -catch HUP,TERM -drain 100ms >"+r.path)
	worker := r.ready(c)
	for n := range 2 {
		harness.Kill(c.T, c.Above(worker), unix.SIGHUP)
		harness.WaitUntil(t, "the worker reloads",
			func() bool { return strings.Count(r.text(), "got SIGHUP") == n+1 })
	}
	harness.Kill(c.T, c.Above(worker), unix.SIGTERM)
	r.wait("drained")
	r.want("got SIGTERM", 1)
}

func TestTTYNohupHoldsWhenTheTerminalIsClosed(t *testing.T) {
	harness.Need(t, "nohup")
	t.Parallel()
	r := newRecord(t)
	c := console.AtShell(t)
	c.Enter("nohup drainit -- sh -c 'exec worker listen -catch TERM,USR1 -drain 100ms >" +
		r.path + "' 2>/dev/null")
	worker := r.ready(c)
	drainit := c.Above(worker)
	if ignored := harness.SignalMask(t, worker, "SigIgn"); ignored&(1<<(unix.SIGHUP-1)) == 0 {
		t.Errorf("the worker does not ignore HUP: %x", ignored)
	}
	c.HangUp()
	c.Wait() // for the shell
	harness.Kill(c.T, drainit, unix.SIGHUP)
	harness.Kill(c.T, drainit, unix.SIGUSR1)
	r.wait("got SIGUSR1")
	r.want("got SIGTERM", 0)
	harness.Kill(c.T, drainit, unix.SIGTERM)
	r.wait("drained")
	c.WantNothingLeft()
}
