package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Console is a person at a terminal of 80 columns: what is typed, and what is
// shown. Unlike pty it looks at each thing that is shown once, in order.
type Console struct {
	*Init
	Master *os.File
	Passed int // bytes of what was shown that have been looked at
}

// AtConsole starts a program with a terminal of its own, whose session it leads.
func AtConsole(t *testing.T, l Launch) *Console {
	t.Helper()
	master, slave := NewConsole(t)
	l.TTY = slave
	return watch(t, l, master, slave)
}

// watch starts a program and shows what its terminal does.
func watch(t *testing.T, l Launch, master, slave *os.File) *Console {
	t.Helper()
	home := NewHome(t)
	if l.Dir == "" {
		l.Dir = home
	}
	l.Env = append([]string{
		// Debian's own programs first, and drainit and its worker by their names.
		"PATH=" + filepath.Dir(DrainitBin) + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH"),
		"TERM=xterm", "SHELL=/bin/bash", "HOME=" + home, "LC_ALL=C", "PS1=#$?# ", "HISTFILE=", "NODE_REPL_HISTORY=",
	}, l.Env...)
	c := &Console{Run(t, l), master, 0}
	slave.Close() // so that the output ends when no process has it any more
	c.Stdout.Eof = make(chan struct{})
	go c.Stdout.Read(master)
	return c
}

// NewHome makes a folder with a file "lines", of more than a screen.
func NewHome(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lines"), []byte(strings.Repeat("some text\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// NewConsole opens a terminal that the test may hang up: a read of the master
// does not hold it open.
func NewConsole(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave = openTerminal(t)
	SetSize(t, master, 24, 80)
	return master, slave
}

// onDescriptor calls f with the descriptor of a file that stays non-blocking,
// which its method Fd would end.
func onDescriptor(t *testing.T, file *os.File, f func(fd int) error) {
	t.Helper()
	if err := control(file, f); err != nil {
		t.Fatal(err)
	}
}

// control is onDescriptor for a file that may have been closed.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil {
		return err
	}
	return failed
}

// SetSize makes a terminal as large as this.
func SetSize(t *testing.T, master *os.File, rows, columns uint16) {
	t.Helper()
	onDescriptor(t, master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

// AtShell starts an interactive bash and waits for its prompt.
func AtShell(t *testing.T) *Console {
	t.Helper()
	Need(t, "bash")
	c := AtConsole(t, Launch{Bin: "/bin/bash", NoPID1: true, Args: []string{"--norc", "--noprofile", "--noediting", "-i"}})
	c.WantPrompt(0)
	return c
}

// AtDash is AtShell with an interactive dash.
func AtDash(t *testing.T) *Console {
	t.Helper()
	Need(t, "dash")
	c := AtConsole(t, Launch{Bin: "/bin/dash", NoPID1: true, Args: []string{"-i"}})
	c.WantPrompt(0)
	return c
}

// Beside runs a test with nothing put before the command and with drainit: the
// person sees no difference.
func Beside(t *testing.T, test func(t *testing.T, under string)) {
	t.Helper()
	for name, under := range map[string]string{"alone": "", "under drainit": "drainit -- "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, under)
		})
	}
}

// BesideAtShell is Beside with an interactive bash for each run.
func BesideAtShell(t *testing.T, test func(t *testing.T, c *Console, under string)) {
	t.Helper()
	Beside(t, func(t *testing.T, under string) { test(t, AtShell(t), under) })
}

// Keys types; \x03 is Ctrl-C, \x04 Ctrl-D, \x1a Ctrl-Z and \x1c Ctrl-\.
func (c *Console) Keys(keys string) {
	c.T.Helper()
	if _, err := c.Master.WriteString(keys); err != nil {
		c.T.Fatal(err)
	}
}

// See waits until something is shown after all that has been seen before, and
// returns the match and its groups.
func (c *Console) See(pattern string) []string {
	c.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(Patience)
	for {
		text, more := c.Stdout.Look()
		if at := re.FindStringSubmatchIndex(text[c.Passed:]); at != nil {
			match := re.FindStringSubmatch(text[c.Passed:])
			c.Passed += at[1]
			return match
		}
		select {
		case <-more:
		case <-deadline:
			c.T.Fatalf("%q is not shown after the first %d of %d bytes, which are\n%s\n[here]\n%s%s",
				pattern, c.Passed, len(text), text[:c.Passed], text[c.Passed:], c.Processes())
		}
	}
}

// Enter types a line.
func (c *Console) Enter(line string) { c.T.Helper(); c.Keys(line + "\r") }

// Prompt waits for the shell's prompt, which shows the last exit status.
func (c *Console) Prompt() int {
	c.T.Helper()
	status, err := strconv.Atoi(c.See(`#(\d+)# `)[1])
	if err != nil {
		c.T.Fatal(err)
	}
	return status
}

// WantPrompt waits for the prompt and compares the exit status that it shows.
func (c *Console) WantPrompt(want int) {
	c.T.Helper()
	if got := c.Prompt(); got != want {
		c.T.Errorf("the prompt shows exit status %d, want %d:\n%s", got, want, c.Shown())
	}
}

// ShowJobs enters jobs until something has been shown, by it or with a prompt. The
// shell may learn of the end or the stop of a job later than the test does, and
// bash at times only when it waits for another one. The one that it waits for may
// take the "+" of the current job.
func (c *Console) ShowJobs(pattern string) { c.T.Helper(); c.showJobsSince(0, pattern) }

// ShowStopped waits until the shell knows that its job has stopped since the last
// prompt: fg continues none that it takes to be running.
func (c *Console) ShowStopped() { c.T.Helper(); c.showJobsSince(c.Passed, `\[1\] ?[-+] +Stopped`) }

// showJobsSince is ShowJobs for what has been shown behind so many bytes.
func (c *Console) showJobsSince(passed int, pattern string) {
	c.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	for deadline := time.Now().Add(Patience); ; time.Sleep(300 * time.Millisecond) {
		c.Enter("/bin/true; jobs")
		c.Prompt()
		if re.MatchString(c.Shown()[passed:]) {
			return
		}
		if time.Now().After(deadline) {
			c.T.Fatalf("jobs never shows %s; shown is\n%s%s", pattern, c.Shown(), c.Processes())
		}
	}
}

// Ready waits for a worker's line that says so and gives its pid, and returns
// its pid in the test's namespace.
func (c *Console) Ready() int {
	c.T.Helper()
	pid, err := strconv.Atoi(c.See(`ready (\d+)\r?\n`)[1])
	if err != nil {
		c.T.Fatal(err)
	}
	return c.HostPid(pid)
}

// Shown is all that came so far.
func (c *Console) Shown() string { return c.Stdout.Text() }

// WantShown checks how often something was shown so far.
func (c *Console) WantShown(pattern string, want int) {
	c.T.Helper()
	if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(c.Shown(), -1)); got != want {
		c.T.Errorf("%q is shown %d times, want %d:\n%s", pattern, got, want, c.Shown())
	}
}

// Foreground is the foreground group, as a pid of the test's namespace.
func (c *Console) Foreground() (group int) {
	c.T.Helper()
	group, err := c.AskForeground()
	if err != nil {
		c.T.Fatal(err)
	}
	return group
}

// AskForeground is Foreground for a terminal that may be gone: that is the error.
func (c *Console) AskForeground() (group int, err error) {
	err = control(c.Master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group, err
}

// WaitForeground waits until a group is the terminal's foreground group.
func (c *Console) WaitForeground(group int) {
	c.T.Helper()
	c.WaitUntil(fmt.Sprintf("group %d has the terminal", group), func() bool { return c.Foreground() == group })
}

// Modes are the terminal's, of the side that programs see.
func (c *Console) Modes() (modes unix.Termios) {
	c.T.Helper()
	onDescriptor(c.T, c.Master, func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			modes = *m
		}
		return err
	})
	return modes
}

// WantForeground requires that the shell has its terminal back.
func (c *Console) WantForeground(shell int) {
	c.T.Helper()
	if fg := c.Foreground(); fg != shell {
		c.T.Errorf("group %d has the terminal, and the shell is %d%s", fg, shell, c.Processes())
	}
}

// WantModes requires that the terminal's modes are as they were.
func (c *Console) WantModes(were unix.Termios) {
	c.T.Helper()
	if are := c.Modes(); are != were {
		c.T.Errorf("the modes were %+v, are %+v", were, are)
	}
}

// HangUp takes the terminal away from all who have it.
func (c *Console) HangUp() {
	c.T.Helper()
	if err := c.Master.Close(); err != nil {
		c.T.Fatal(err)
	}
}
