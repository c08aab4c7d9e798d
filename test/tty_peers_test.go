package test

import (
	"regexp"
	"testing"
	"time"
)

// What the inits of the comparison do at the prompt of an interactive bash.

// sleeper is a worker that does not read, and handles nothing.
const sleeper = " -- sh -c 'echo ready $$; exec sleep 3600'"

// within waits until something is shown, for as long as that may take.
func (c *console) within(atMost time.Duration, pattern string) bool {
	re := regexp.MustCompile("(?m)" + pattern)
	for deadline := time.Now().Add(atMost); ; time.Sleep(2 * time.Millisecond) {
		switch {
		case re.MatchString(c.shown()):
			return true
		case time.Now().After(deadline):
			return false
		}
	}
}

func ctrlZAtAShell(t *testing.T, init, want string) string {
	c := atShell(t)
	c.enter(init + sleeper)
	worker := c.ready()
	c.waitUntil("the worker sleeps", func() bool { return comm(worker) == "sleep" })
	c.keys("\x1a")
	if c.within(limit(want), `^\[1\]\+ +Stopped`) {
		return "stops"
	}
	return "hangs"
}

// A shell that finds itself in the background at its prompt may exit.
func ampersandAtAShell(t *testing.T, init, _ string) string {
	c := atShell(t)
	c.enter(init + sleeper + " &")
	started := regexp.MustCompile(`ready \d`)
	c.waitUntil("the worker is there", func() bool { return started.MatchString(c.shown()) || !c.running() })
	if !c.running() || c.foreground() != c.Pid() {
		return "takes the terminal"
	}
	return "stays in the background"
}

func ctrlCInALoop(t *testing.T, init, _ string) string {
	c := atShell(t)
	c.enter("for n in 1 2; do " + init + sleeper + "; done")
	c.ready()
	c.keys("\x03")
	if c.see(`ready \d|#130# `)[0] == "#130# " {
		return "ends the loop"
	}
	return "the next turn"
}
