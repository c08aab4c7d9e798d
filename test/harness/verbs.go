package harness

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Ask is one call of a verb inside a container, as an engine's exec makes it:
// of no parent there.
type Ask struct {
	Bin    string // drainit there, if it is another file than outside
	Args   []string
	Env    []string
	UID    int
	Cgroup string // a folder: who asks joins it
}

// Answer is what came of it.
type Answer struct {
	T        *testing.T
	args     []string
	Status   int // 128+n where a signal ended it
	Out, Err string
}

// Ask calls a verb in the container of an init.
func (p *Init) Ask(args ...string) Answer { p.T.Helper(); return p.AskAs(Ask{Args: args}) }

// AskAs runs a verb beside the init, as it is told to.
func (p *Init) AskAs(a Ask) Answer {
	p.T.Helper()
	NeedAsk(p.T)
	if a.Bin == "" {
		a.Bin = DrainitBin
	}
	command := append(append(p.Entering(a.UID, a.Cgroup), a.Bin), a.Args...)
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), p.Marker), a.Env...)
	cmd.WaitDelay = Patience // who was entered by it may hold the pipes
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	answer := Answer{p.T, a.Args, -1, stdout.String(), stderr.String()}
	if exit := (*exec.ExitError)(nil); ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		p.T.Errorf("drainit %q: %v\n%+v", a.Args, errors.Join(err, ctx.Err()), answer)
		return answer
	}
	answer.Status = statusOfEnd(cmd.ProcessState.Sys().(syscall.WaitStatus))
	return answer
}

// Entering is the beginning of a command line that runs the rest of it in the
// container of an init, as this user and in this cgroup.
func (p *Init) Entering(uid int, cgroup string) (command []string) {
	if cgroup != "" {
		command = []string{"/bin/sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, cgroup}
	}
	command = append(command, "nsenter", "-t", strconv.Itoa(p.Pid()), "-p", "-m", "-r", "-w")
	if uid != 0 {
		command = append(command, "-S", strconv.Itoa(uid), "-G", strconv.Itoa(uid))
	}
	return append(command, "--")
}

// NeedAsk skips a test that lacks what a verb is run with.
func NeedAsk(t *testing.T) {
	t.Helper()
	Need(t, "nsenter")
	NeedRoot(t)
}

// Want checks the exit status and what was printed: nothing where a pattern is
// empty, one line or more that match where it is not.
func (a Answer) Want(status int, out, err string) {
	a.T.Helper()
	if a.Status != status || !Matches(out, a.Out) || !Matches(err, a.Err) {
		a.T.Errorf("drainit %q: exit status %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", a.args, a.Status, status, out, a.Out, err, a.Err)
	}
}

// WantSilent checks that it succeeded and said nothing.
func (a Answer) WantSilent() { a.T.Helper(); a.Want(0, "", "") }

// WantDone is WantSilent for what can end PID 1, and with it what asked.
func (a Answer) WantDone(pid1 bool) {
	a.T.Helper()
	if !pid1 || a.Status != 137 || a.Out+a.Err != "" {
		a.WantSilent()
	}
}

// WantRefused checks that it failed with one line that matches.
func (a Answer) WantRefused(line string) {
	a.T.Helper()
	a.Want(125, "", line)
	if n := len(LinesOf(a.Err)); n != 1 {
		a.T.Errorf("drainit %q: %d lines on stderr, want one:\n%s", a.args, n, a.Err)
	}
}

// Container is a running drainit and where it is asked from.
type Container struct {
	*Init // its engine, as it were: the output, and the exit status
	Ask   func(args ...string) Answer
	Pid1  bool
}

// Asked runs a test with drainit as PID 1 of its container, and in a pod that
// shares its PID namespace, where another drainit runs beside it.
func Asked(t *testing.T, test func(t *testing.T, run func(l Launch) *Container)) {
	t.Helper()
	t.Parallel()
	t.Run("PID 1", func(t *testing.T) {
		t.Parallel()
		NeedAsk(t)
		test(t, func(l Launch) *Container {
			p := Run(t, l)
			return &Container{p, p.Ask, true}
		})
	})
	t.Run("pod", func(t *testing.T) {
		t.Parallel()
		NeedAsk(t)
		pod := NewPod(t)
		test(t, func(l Launch) *Container {
			pod.Run(NewCgroup(t), Launch{Args: []string{LongGrace, "--", WorkerBin, "listen", "-name", "neighbour "}}).WaitOut(`^neighbour ready`)
			return pod.Run(NewCgroup(t), l)
		})
	})
}

// Pod is a PID namespace whose first process is none of the containers'.
type Pod struct{ Pause *Init }

// NewPod starts what holds the namespaces of a pod.
func NewPod(t *testing.T) Pod {
	t.Helper()
	p := Run(t, Launch{Bin: WorkerBin, Args: []string{"listen", "-name", "pause "}})
	p.WaitOut(`^pause ready`)
	return Pod{p}
}

// Run starts a container with drainit in it, in a cgroup of its own.
func (pod Pod) Run(cgroup string, l Launch) *Container {
	t := pod.Pause.T
	t.Helper()
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	command := append(append(pod.Pause.Entering(l.Setup.UID, cgroup), l.Bin), l.Args...)
	bin, err := exec.LookPath(command[0])
	Must(t, err)
	l.NoPID1, l.Bin, l.Args, l.Setup = true, bin, command[1:], Setup{}
	c := &Container{Init: Run(t, l)}
	WaitUntil(t, "nsenter has forked", func() bool { c.Drainit = c.FirstChild(); return c.Drainit != 0 })
	c.Ask = func(args ...string) Answer { t.Helper(); return pod.Pause.AskAs(Ask{Args: args, Cgroup: cgroup}) }
	return c
}

// Send sends a signal to drainit itself.
func (c *Container) Send(sig syscall.Signal) { c.T.Helper(); Kill(c.T, c.Drainit, sig) }

// WantNothingSent runs a call of a verb while drainit is stopped, so that what
// was sent to it can be seen.
func (c *Container) WantNothingSent(call func()) {
	c.T.Helper()
	Freeze(c.T, c.Drainit)
	call()
	if pending := SignalMask(c.T, c.Drainit, "ShdPnd"); pending != 0 || StateOf(c.Drainit) != 'T' {
		c.T.Errorf("it was sent signals: pending %#x, state %c", pending, StateOf(c.Drainit))
	}
	c.Send(unix.SIGCONT)
}

// Matches tells whether text is what a pattern describes; the empty one is for
// the empty text.
func Matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	return regexp.MustCompile("(?m)" + pattern).MatchString(text)
}
