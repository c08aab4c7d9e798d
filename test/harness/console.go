package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Console is a person at a terminal of 80 columns: what is typed, and what is
// shown. It looks at each thing that is shown once, in order.
type Console struct {
	*Init
	Master *os.File
	Passed int // bytes of what was shown that have been looked at
}

// AtConsole starts a program with a terminal of its own, whose session it leads.
func AtConsole(t *testing.T, l Launch) *Console {
	t.Helper()
	master, slave := NewConsole(t)
	home := t.TempDir()
	WriteFile(t, filepath.Join(home, "lines"), []byte(strings.Repeat("some text\n", 100))) // more than a screen
	if l.Dir == "" {
		l.Dir = home
	}
	l.TTY = slave
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

// NewConsole opens a terminal that the test may hang up: a read of the master
// does not hold it open.
func NewConsole(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	Must(t, err)
	t.Cleanup(func() { master.Close() })
	number := 0
	Must(t, control(master, func(fd int) (err error) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	}))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	Must(t, err)
	t.Cleanup(func() { slave.Close() })
	SetSize(t, master, 24, 80)
	return master, slave
}

// OpenPty opens a new terminal, for as long as the test runs.
func OpenPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, slave = NewConsole(t)
	master.Fd() // makes it blocking
	return master, slave
}

// OnTerminal gives an init a controlling terminal, on its standard input. Then
// the worker does not lead a session but a process group, which the kernel does
// not call orphaned: by its default action TSTP stops it for good.
func OnTerminal(t *testing.T, l Launch) Launch {
	t.Helper()
	_, slave := OpenPty(t)
	return OnThis(slave, l)
}

// OnThis is OnTerminal for a terminal that there is already.
func OnThis(slave *os.File, l Launch) Launch {
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	l.Args = append([]string{"ctty", l.Bin}, l.Args...)
	l.Bin, l.Stdin = WorkerBin, slave
	return l
}

// control calls f with the descriptor of a file that stays non-blocking, which its method Fd
// would end, and that may have been closed.
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
	Must(t, control(master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	}))
}

// AtShell starts an interactive bash and waits for its prompt.
func AtShell(t *testing.T) *Console {
	t.Helper()
	return atPrompt(t, "bash", "--norc", "--noprofile", "--noediting", "-i")
}

// AtDash is AtShell with an interactive dash.
func AtDash(t *testing.T) *Console { t.Helper(); return atPrompt(t, "dash", "-i") }

func atPrompt(t *testing.T, shell string, args ...string) *Console {
	t.Helper()
	Need(t, shell)
	c := AtConsole(t, Launch{Bin: "/bin/" + shell, NoPID1: true, Args: args})
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
	_, err := c.Master.WriteString(keys)
	Must(c.T, err)
}

// Enter types a line.
func (c *Console) Enter(line string) { c.T.Helper(); c.Keys(line + "\r") }

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
				pattern, c.Passed, len(text), text[:c.Passed], text[c.Passed:], "\n"+c.Waits())
		}
	}
}

// number is See for a pattern whose first group is a number.
func (c *Console) number(pattern string) int {
	c.T.Helper()
	n, err := strconv.Atoi(c.See(pattern)[1])
	Must(c.T, err)
	return n
}

// Prompt waits for the shell's prompt, which shows the last exit status.
func (c *Console) Prompt() int { c.T.Helper(); return c.number(`#(\d+)# `) }

// WantPrompt waits for the prompt and compares the exit status that it shows.
func (c *Console) WantPrompt(want int) {
	c.T.Helper()
	if got := c.Prompt(); got != want {
		c.T.Errorf("the prompt shows exit status %d, want %d:\n%s", got, want, c.Shown())
	}
}

// Ready waits for a worker's line that says so and gives its pid, and returns
// its pid in the test's namespace.
func (c *Console) Ready() int { c.T.Helper(); return c.HostPid(c.number(`ready (\d+)\r?\n`)) }

// ShowJobs enters jobs until something has been shown, by it or with a prompt. The
// shell may learn of the end or the stop of a job later than the test does, and
// bash at times only when it waits for another one. The one that it waits for may
// take the "+" of the current job.
func (c *Console) ShowJobs(pattern string) { c.T.Helper(); c.showJobsSince(0, pattern) }

// ShowStopped waits until the shell knows that its job has stopped since the last
// prompt: fg continues none that it takes to be running.
func (c *Console) ShowStopped() { c.T.Helper(); c.showJobsSince(c.Passed, `\[1\] ?[-+] +Stopped`) }

// showJobsSince is ShowJobs for what has been shown after so many bytes.
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
			c.T.Fatalf("jobs never shows %s; shown is\n%s%s", pattern, c.Shown(), "\n"+c.Waits())
		}
	}
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
func (c *Console) Foreground() int {
	c.T.Helper()
	group, err := c.AskForeground()
	Must(c.T, err)
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

// WantForeground requires that the shell has its terminal back.
func (c *Console) WantForeground(shell int) {
	c.T.Helper()
	if fg := c.Foreground(); fg != shell {
		c.T.Errorf("group %d has the terminal, and the shell is %d%s", fg, shell, "\n"+c.Waits())
	}
}

// Modes are the terminal's, of the side that programs see.
func (c *Console) Modes() (modes unix.Termios) {
	c.T.Helper()
	Must(c.T, control(c.Master, func(fd int) error {
		m, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			modes = *m
		}
		return err
	}))
	return modes
}

// WantModes requires that the terminal's modes are as they were.
func (c *Console) WantModes(were unix.Termios) {
	c.T.Helper()
	if are := c.Modes(); are != were {
		c.T.Errorf("the modes were %+v, are %+v", were, are)
	}
}

// HangUp takes the terminal away from all who have it.
func (c *Console) HangUp() { c.T.Helper(); Must(c.T, c.Master.Close()) }

// Above is the drainit that started a worker.
func (c *Console) Above(worker int) int {
	c.T.Helper()
	p := TaskOf(TaskOf(worker).Ppid)
	if !strings.HasPrefix(p.Comm, "drainit") {
		c.T.Fatalf("the worker %d is a child of %+v%s", worker, p, "\n"+c.Waits())
	}
	return p.pid
}

// WaitUntil waits for something that can only be looked at, and shows the
// terminal where it never comes.
func (c *Console) WaitUntil(what string, ok func() bool) {
	c.T.Helper()
	if !eventually(ok) {
		c.T.Fatalf("never: %s; shown is\n%s%s", what, c.Shown(), "\n"+c.Waits())
	}
}

// WaitState waits until a process is in one of some states: "T" is stopped, and
// "RSD" are those of one that is not.
func (c *Console) WaitState(pid int, states string) {
	c.T.Helper()
	c.WaitUntil(fmt.Sprintf("process %d is in one of the states %s", pid, states),
		func() bool { return strings.IndexByte(states, StateOf(pid)) >= 0 })
}

// Send sends a signal to a process, or with -pid to a group.
func (c *Console) Send(pid int, sig syscall.Signal) { c.T.Helper(); Kill(c.T, pid, sig) }

// WriteLine writes a line to a named pipe that is read.
func WriteLine(t *testing.T, fifo string) { t.Helper(); Must(t, os.WriteFile(fifo, []byte("go\n"), 0)) }
