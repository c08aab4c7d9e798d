package test

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

// console is a person at a terminal of 80 columns: what is typed, and what is
// shown. Unlike pty it looks at each thing that is shown once, in order.
type console struct {
	*Init
	master *os.File
	passed int // bytes of what was shown that have been looked at
}

// atConsole starts a program with a terminal of its own, whose session it leads.
func atConsole(t *testing.T, l Launch) *console {
	t.Helper()
	master, slave := newConsole(t)
	l.TTY = slave
	return watch(t, l, master, slave)
}

// watch starts a program and shows what its terminal does.
func watch(t *testing.T, l Launch, master, slave *os.File) *console {
	t.Helper()
	home := newHome(t)
	if l.Dir == "" {
		l.Dir = home
	}
	l.Env = append([]string{
		// Debian's own programs first, and drainit and its worker by their names.
		"PATH=" + filepath.Dir(drainitBin) + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin:" + os.Getenv("PATH"),
		"TERM=xterm", "SHELL=/bin/bash", "HOME=" + home, "LC_ALL=C", "PS1=#$?# ", "HISTFILE=", "NODE_REPL_HISTORY=",
	}, l.Env...)
	c := &console{launch(t, l), master, 0}
	slave.Close() // so that the output ends when no process has it any more
	c.stdout.eof = make(chan struct{})
	go c.stdout.read(master)
	return c
}

// newHome makes a folder with a file "lines", of more than a screen.
func newHome(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "lines"), []byte(strings.Repeat("some text\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newConsole opens a terminal that the test may hang up: a read of the master
// does not hold it open.
func newConsole(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number := 0
	onDescriptor(t, master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	setSize(t, master, 24, 80)
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// onDescriptor calls f with the descriptor of a file that stays non-blocking,
// which its method Fd would end.
func onDescriptor(t *testing.T, file *os.File, f func(fd int) error) {
	t.Helper()
	raw, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = f(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func setSize(t *testing.T, master *os.File, rows, columns uint16) {
	t.Helper()
	onDescriptor(t, master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
}

// atShell starts an interactive bash and waits for its prompt.
func atShell(t *testing.T) *console {
	t.Helper()
	need(t, "bash")
	c := atConsole(t, Launch{Bin: "/bin/bash", NoPID1: true, Args: []string{"--norc", "--noprofile", "--noediting", "-i"}})
	c.wantPrompt(0)
	return c
}

// atDash is atShell with an interactive dash.
func atDash(t *testing.T) *console {
	t.Helper()
	need(t, "dash")
	c := atConsole(t, Launch{Bin: "/bin/dash", NoPID1: true, Args: []string{"-i"}})
	c.wantPrompt(0)
	return c
}

// beside runs a test with nothing put before the command and with drainit: the
// person sees no difference.
func beside(t *testing.T, test func(t *testing.T, under string)) {
	t.Helper()
	for name, under := range map[string]string{"alone": "", "under drainit": "drainit -- "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, under)
		})
	}
}

// keys types; \x03 is Ctrl-C, \x04 Ctrl-D, \x1a Ctrl-Z and \x1c Ctrl-\.
func (c *console) keys(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// see waits until something is shown after all that has been seen before, and
// returns the match and its groups.
func (c *console) see(pattern string) []string {
	c.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(patience)
	for {
		text, more := c.stdout.look()
		if at := re.FindStringSubmatchIndex(text[c.passed:]); at != nil {
			match := re.FindStringSubmatch(text[c.passed:])
			c.passed += at[1]
			return match
		}
		select {
		case <-more:
		case <-deadline:
			c.t.Fatalf("%q is not shown after the first %d of %d bytes, which are\n%s\n[here]\n%s%s",
				pattern, c.passed, len(text), text[:c.passed], text[c.passed:], c.processes())
		}
	}
}

// enter types a line.
func (c *console) enter(line string) { c.t.Helper(); c.keys(line + "\r") }

// prompt waits for the shell's prompt, which shows the last exit status.
func (c *console) prompt() int {
	c.t.Helper()
	status, err := strconv.Atoi(c.see(`#(\d+)# `)[1])
	if err != nil {
		c.t.Fatal(err)
	}
	return status
}

// wantPrompt waits for the prompt and compares the exit status that it shows.
func (c *console) wantPrompt(want int) {
	c.t.Helper()
	if got := c.prompt(); got != want {
		c.t.Errorf("the prompt shows exit status %d, want %d:\n%s", got, want, c.shown())
	}
}

// showJobs enters jobs until something has been shown, by it or with a prompt. The
// shell may learn of the end or the stop of a job later than the test does, and
// bash at times only when it waits for another one. The one that it waits for may
// take the "+" of the current job.
func (c *console) showJobs(pattern string) { c.t.Helper(); c.showJobsSince(0, pattern) }

// showStopped waits until the shell knows that its job has stopped since the last
// prompt: fg continues none that it takes to be running.
func (c *console) showStopped() { c.t.Helper(); c.showJobsSince(c.passed, `\[1\] ?[-+] +Stopped`) }

// showJobsSince is showJobs for what has been shown behind so many bytes.
func (c *console) showJobsSince(passed int, pattern string) {
	c.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	for deadline := time.Now().Add(patience); ; time.Sleep(300 * time.Millisecond) {
		c.enter("/bin/true; jobs")
		c.prompt()
		if re.MatchString(c.shown()[passed:]) {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("jobs never shows %s; shown is\n%s%s", pattern, c.shown(), c.processes())
		}
	}
}

// ready waits for a worker's line that says so and gives its pid, and returns
// its pid in the test's namespace.
func (c *console) ready() int {
	c.t.Helper()
	pid, err := strconv.Atoi(c.see(`ready (\d+)\r?\n`)[1])
	if err != nil {
		c.t.Fatal(err)
	}
	return c.hostPid(pid)
}

// shown is all that came so far.
func (c *console) shown() string { return c.stdout.text() }

// wantShown checks how often something was shown so far.
func (c *console) wantShown(pattern string, want int) {
	c.t.Helper()
	if got := len(regexp.MustCompile("(?m)"+pattern).FindAllString(c.shown(), -1)); got != want {
		c.t.Errorf("%q is shown %d times, want %d:\n%s", pattern, got, want, c.shown())
	}
}

// foreground is the foreground group, as a pid of the test's namespace.
func (c *console) foreground() (group int) {
	c.t.Helper()
	onDescriptor(c.t, c.master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return group
}

func (c *console) waitForeground(group int) {
	c.t.Helper()
	c.waitUntil(fmt.Sprintf("group %d has the terminal", group), func() bool { return c.foreground() == group })
}

// modes are the terminal's, of the side that programs see.
func (c *console) modes() (modes unix.Termios) {
	c.t.Helper()
	onDescriptor(c.t, c.master, func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			modes = *m
		}
		return err
	})
	return modes
}

// wantForeground requires that the shell has its terminal back.
func (c *console) wantForeground(shell int) {
	c.t.Helper()
	if fg := c.foreground(); fg != shell {
		c.t.Errorf("group %d has the terminal, and the shell is %d%s", fg, shell, c.processes())
	}
}

// wantModes requires that the terminal's modes are as they were.
func (c *console) wantModes(were unix.Termios) {
	c.t.Helper()
	if are := c.modes(); are != were {
		c.t.Errorf("the modes were %+v, are %+v", were, are)
	}
}

// hangUp takes the terminal away from all who have it.
func (c *console) hangUp() {
	c.t.Helper()
	if err := c.master.Close(); err != nil {
		c.t.Fatal(err)
	}
}
