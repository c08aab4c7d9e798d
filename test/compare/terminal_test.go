package compare

import (
	"regexp"
	"testing"

	"drainit/test/harness"
)

// What the inits of the comparison do at the prompt of an interactive bash.

// sleeper is a worker that does not read, and handles nothing.
const sleeper = " -- sh -c 'echo ready $$; exec sleep 3600'"

func ctrlZAtAShell(t *testing.T, init, want string) string {
	c := harness.AtShell(t)
	c.Enter(init + sleeper)
	worker := c.Ready()
	c.WaitUntil("the worker sleeps", func() bool { return harness.Comm(worker) == "sleep" })
	c.Keys("\x1a")
	stopped := regexp.MustCompile(`(?m)^\[1\]\+ +Stopped`)
	return happens(want, func() bool { return stopped.MatchString(c.Shown()) }, "stops", "hangs")
}

// A shell that finds itself in the background at its prompt may exit.
func ampersandAtAShell(t *testing.T, init, _ string) string {
	c := harness.AtShell(t)
	c.Enter(init + sleeper + " &")
	started := regexp.MustCompile(`ready \d`)
	c.WaitUntil("the worker is there", func() bool { return started.MatchString(c.Shown()) || !c.Running() })
	if group, err := c.AskForeground(); !c.Running() || err != nil || group != c.Pid() {
		return "takes the terminal"
	}
	return "stays in the background"
}

func ctrlCInALoop(t *testing.T, init, _ string) string {
	c := harness.AtShell(t)
	c.Enter("for n in 1 2; do " + init + sleeper + "; done")
	c.Ready()
	c.Keys("\x03")
	if c.See(`ready \d|#130# `)[0] == "#130# " {
		return "ends the loop"
	}
	return "the next turn"
}
