// Package console is a person at a terminal, for the tests of job control.
package console

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Console is a person at a terminal of 80 columns: what is typed, and what is
// shown. It looks at each thing that is shown once, in order.
type Console struct {
	*harness.Init
	Master *os.File
	Passed int // bytes of what was shown that have been looked at
}

// At starts a program with a terminal of its own, whose session it leads.
func At(t *testing.T, l harness.Launch) *Console {
	master, slave := harness.NewTerminal(t)
	home := t.TempDir()
	// more than a screen
	harness.WriteFile(t, filepath.Join(home, "lines"), strings.Repeat("some text\n", 100))
	if l.Dir == "" {
		l.Dir = home
	}
	l.TTY, l.Stdout, l.Stderr = slave, slave, slave
	l.Env = append([]string{
		// Debian's own programs first, and drainit and its worker by their names.
		"PATH=" + filepath.Dir(harness.DrainitBin) + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" +
			os.Getenv("PATH"),
		"TERM=xterm", "SHELL=/bin/bash", "HOME=" + home, "LC_ALL=C", "PS1=#$?# ", "HISTFILE=",
		"NODE_REPL_HISTORY=",
	}, l.Env...)
	c := &Console{harness.Run(t, l), master, 0}
	slave.Close() // so that the output ends when no process has it any more
	c.Stdout = harness.Collect(master)
	return c
}

// AtShell starts an interactive shell, a bash if none is given, and waits for its prompt.
func AtShell(t *testing.T, shell ...string) *Console {
	t.Helper()
	if len(shell) == 0 {
		shell = []string{"bash", "--norc", "--noprofile", "--noediting", "-i"}
	}
	c := At(t, harness.Launch{Bin: shell[0], NoPID1: true, Args: shell[1:]})
	c.WantPrompt(0)
	return c
}

// Beside runs a test with nothing put before the command and with drainit: the
// person sees no difference.
func Beside(t *testing.T, test func(t *testing.T, under string)) {
	for name, under := range map[string]string{"alone": "", "under drainit": "drainit -- "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, under)
		})
	}
}

// BesideAtShell is Beside with an interactive bash for each run.
func BesideAtShell(t *testing.T, test func(t *testing.T, c *Console, under string)) {
	Beside(t, func(t *testing.T, under string) { test(t, AtShell(t), under) })
}

// Keys types; \x03 is Ctrl-C, \x04 Ctrl-D, \x1a Ctrl-Z and \x1c Ctrl-\.
func (c *Console) Keys(keys string) {
	c.T.Helper()
	_, err := c.Master.WriteString(keys)
	harness.Must(c.T, err)
}

// Enter types a line and a return.
func (c *Console) Enter(line string) { c.T.Helper(); c.Keys(line + "\r") }

// See waits until something is shown after all that has been seen before, and
// returns the match and its groups.
func (c *Console) See(pattern string) (match []string) {
	c.T.Helper()
	match, c.Passed = c.WaitBehind(c.Passed, c.Stdout, pattern)
	return match
}

// Prompt waits for the shell's prompt, which shows the last exit status.
func (c *Console) Prompt() int { c.T.Helper(); return harness.Number(c.T, c.See(`#(\d+)# `)[1]) }

// WantPrompt waits for the next prompt and checks the exit status in it.
func (c *Console) WantPrompt(want int) {
	c.T.Helper()
	if got := c.Prompt(); got != want {
		c.T.Errorf("the prompt shows exit status %d, want %d", got, want)
	}
}

// Ready waits for a worker's line that says so and gives its pid, and returns
// its pid in the test's namespace.
func (c *Console) Ready() int {
	c.T.Helper()
	return c.HostPid(harness.Number(c.T, c.See(`ready (\d+)\r?\n`)[1]))
}

// ShowJobs enters jobs until something has been shown after so many bytes, by it or with a
// prompt. The shell may learn of the end or the stop of a job later than the test does, and
// bash at times only when it waits for another one. The one that it waits for may
// take the "+" of the current job.
func (c *Console) ShowJobs(passed int, pattern string) {
	c.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	harness.WaitUntil(c.T, "jobs shows "+pattern, func() bool {
		c.Enter("/bin/true; jobs")
		c.Prompt()
		return re.MatchString(c.Shown()[passed:])
	})
}

// ShowStopped waits until the shell knows that its job has stopped since the last
// prompt: fg continues none that it takes to be running.
func (c *Console) ShowStopped() { c.T.Helper(); c.ShowJobs(c.Passed, `\[1\] ?[-+] +Stopped`) }

// Shown is all that the terminal has shown.
func (c *Console) Shown() string { return c.Stdout.Text() }

// WantShown checks how often the terminal has shown something.
func (c *Console) WantShown(pattern string, want int) {
	c.T.Helper()
	harness.WantMatches(c.T, c.Shown(), pattern, want)
}

// Foreground is the foreground group, as a pid of the test's namespace; 0 if the terminal is gone.
func (c *Console) Foreground() (group int) {
	_ = harness.Control(c.Master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

// WaitForeground waits until a process group has the terminal.
func (c *Console) WaitForeground(group int) {
	c.T.Helper()
	harness.WaitUntil(c.T, fmt.Sprintf("group %d has the terminal", group),
		func() bool { return c.Foreground() == group })
}

// WantForeground checks which process group has the terminal now.
func (c *Console) WantForeground(shell int) {
	c.T.Helper()
	if fg := c.Foreground(); fg != shell {
		c.T.Errorf("group %d has the terminal, and the shell is %d", fg, shell)
	}
}

// Modes are the terminal's, of the side that programs see.
func (c *Console) Modes() unix.Termios {
	c.T.Helper()
	var modes *unix.Termios
	harness.Must(c.T, harness.Control(c.Master, func(fd int) (err error) {
		modes, err = unix.IoctlGetTermios(fd, unix.TCGETS)
		return err
	}))
	return *modes
}

// WantModes checks that the modes are what they were.
func (c *Console) WantModes(were unix.Termios) {
	c.T.Helper()
	if are := c.Modes(); are != were {
		c.T.Errorf("the modes were %+v, are %+v", were, are)
	}
}

// HangUp closes the master: the kernel sends HUP and CONT to the session.
func (c *Console) HangUp() { c.T.Helper(); harness.Must(c.T, c.Master.Close()) }

// Above is the drainit that started a worker.
func (c *Console) Above(worker int) int {
	c.T.Helper()
	p := harness.TaskOf(harness.TaskOf(worker).Ppid)
	if !strings.HasPrefix(p.Comm, "drainit") {
		c.T.Fatalf("the worker %d is a child of %+v", worker, p)
	}
	return p.Pid
}

// WaitState waits until a process is in one of some states: "T" is stopped, and
// "RSD" are those of one that is not.
func (c *Console) WaitState(pid int, states string) {
	c.T.Helper()
	harness.WaitUntil(c.T, fmt.Sprintf("process %d is in one of the states %s", pid, states),
		func() bool { return strings.IndexByte(states, harness.StateOf(pid)) >= 0 })
}
