package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

// answer is what came of it.
type answer struct {
	t        *testing.T
	args     []string
	status   int // 128+n where a signal ended it
	out, err string
	cpu      time.Duration
}

// ask calls a verb in the container of an init.
func (p *Init) ask(args ...string) answer { p.t.Helper(); return p.askAs(Ask{Args: args}) }

func (p *Init) askAs(a Ask) answer {
	p.t.Helper()
	needAsk(p.t)
	if a.Bin == "" {
		a.Bin = drainitBin
	}
	command := p.entering(a.UID, a.Cgroup)
	command = append(append(command, a.Bin), a.Args...)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), p.marker), a.Env...)
	cmd.WaitDelay = patience // who was entered by it may hold the pipes
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		p.t.Errorf("drainit %q: %v\nstdout:\n%s\nstderr:\n%s", a.Args, errors.Join(err, ctx.Err()), stdout.String(), stderr.String())
		return answer{t: p.t, args: a.Args, status: -1}
	}
	status := cmd.ProcessState.ExitCode()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		status = 128 + int(ws.Signal())
	}
	return answer{p.t, a.Args, status, stdout.String(), stderr.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// entering is the beginning of a command line that runs the rest of it in the
// container of an init, as this user and in this cgroup.
func (p *Init) entering(uid int, cgroup string) (command []string) {
	if cgroup != "" {
		command = []string{"/bin/sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, cgroup}
	}
	command = append(command, "nsenter", "-t", strconv.Itoa(p.Pid()), "-p", "-m", "-r", "-w")
	if uid != 0 {
		command = append(command, "-S", strconv.Itoa(uid), "-G", strconv.Itoa(uid))
	}
	return append(command, "--")
}

func needAsk(t *testing.T) {
	t.Helper()
	need(t, "nsenter")
	needRoot(t)
}

// want checks the exit status and what was printed: nothing where a pattern is
// empty, one line or more that match where it is not.
func (a answer) want(status int, out, err string) {
	a.t.Helper()
	if a.status != status || !matches(out, a.out) || !matches(err, a.err) {
		a.t.Errorf("drainit %q: exit status %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", a.args, a.status, status, out, a.out, err, a.err)
	}
}

// wantSilent checks that it succeeded and said nothing.
func (a answer) wantSilent() { a.t.Helper(); a.want(0, "", "") }

// wantDone is wantSilent for what can end PID 1, and with it what asked.
func (a answer) wantDone(pid1 bool) {
	a.t.Helper()
	if !pid1 || a.status != 137 || a.out+a.err != "" {
		a.wantSilent()
	}
}

// wantRefused checks that it failed with one line that matches.
func (a answer) wantRefused(line string) {
	a.t.Helper()
	a.want(125, "", line)
	if n := len(linesOf(a.err)); n != 1 {
		a.t.Errorf("drainit %q: %d lines on stderr, want one:\n%s", a.args, n, a.err)
	}
}

// Container is a running drainit and where it is asked from.
type Container struct {
	*Init       // its engine, as it were: the output, and the exit status
	drainit int // its pid in the test's namespace
	ask     func(args ...string) answer
	pid1    bool
}

// asked runs a test with drainit as PID 1 of its container, and in a pod that
// shares its PID namespace, where another drainit runs beside it.
func asked(t *testing.T, test func(t *testing.T, run func(l Launch) *Container)) {
	t.Helper()
	t.Parallel()
	t.Run("PID 1", func(t *testing.T) {
		t.Parallel()
		needAsk(t)
		test(t, func(l Launch) *Container { return asPID1(t, l) })
	})
	t.Run("pod", func(t *testing.T) {
		t.Parallel()
		needAsk(t)
		pod := newPod(t)
		test(t, func(l Launch) *Container {
			pod.run(newCgroup(t), Launch{Args: []string{longGrace, "--", workerBin, "listen", "-name", "neighbour "}}).waitOut(`^neighbour ready`)
			return pod.run(newCgroup(t), l)
		})
	})
}

func asPID1(t *testing.T, l Launch) *Container {
	t.Helper()
	p := launch(t, l)
	return &Container{Init: p, drainit: p.Pid(), ask: p.ask, pid1: true}
}

// Pod is a PID namespace whose first process is none of the containers'.
type Pod struct{ pause *Init }

func newPod(t *testing.T) Pod {
	t.Helper()
	p := launch(t, Launch{Bin: workerBin, Args: []string{"listen", "-name", "pause "}})
	p.waitOut(`^pause ready`)
	return Pod{p}
}

// run starts a container with drainit in it, in a cgroup of its own.
func (pod Pod) run(cgroup string, l Launch) *Container {
	t := pod.pause.t
	t.Helper()
	if l.Bin == "" {
		l.Bin = drainitBin
	}
	command := append(append(pod.pause.entering(l.Setup.UID, cgroup), l.Bin), l.Args...)
	bin, err := exec.LookPath(command[0])
	if err != nil {
		t.Fatal(err)
	}
	l.NoPID1, l.Bin, l.Args, l.Setup = true, bin, command[1:], Setup{}
	c := &Container{Init: launch(t, l)}
	waitUntil(t, "nsenter has forked", func() bool { c.drainit = c.firstChild(); return c.drainit != 0 })
	c.ask = func(args ...string) answer { t.Helper(); return pod.pause.askAs(Ask{Args: args, Cgroup: cgroup}) }
	return c
}

// send sends a signal to drainit itself.
func (c *Container) send(sig syscall.Signal) {
	c.t.Helper()
	if err := syscall.Kill(c.drainit, sig); err != nil {
		c.t.Fatalf("cannot send %v to drainit: %v", sig, err)
	}
}

func (c *Container) waitTitle(title string) { c.t.Helper(); waitTitle(c.t, c.drainit, title) }
func (c *Container) wantTitle(title string) { c.t.Helper(); wantTitle(c.t, c.drainit, title) }

// wantNothingSent runs a call of a verb while drainit is stopped, so that what
// was sent to it can be seen.
func (c *Container) wantNothingSent(call func()) {
	c.t.Helper()
	freeze(c.t, c.drainit)
	call()
	if pending := signalMask(c.t, c.drainit, "ShdPnd"); pending != 0 || stateOf(c.drainit) != 'T' {
		c.t.Errorf("it was sent signals: pending %#x, state %c", pending, stateOf(c.drainit))
	}
	c.send(unix.SIGCONT)
}

// newCgroup makes a cgroup in the first hierarchy that lets us, of version 2
// where there is one.
func newCgroup(t *testing.T) (dir string) {
	t.Helper()
	needRoot(t)
	for _, mount := range cgroupMounts(t) {
		dir := filepath.Join(mount, fmt.Sprintf("drainit-test-%d-%d", os.Getpid(), launches.Add(1)))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Log(err)
			continue
		}
		t.Cleanup(func() {
			// Busy until the last of them has been waited for.
			waitUntil(t, "the cgroup is gone", func() bool { return !errors.Is(os.Remove(dir), unix.EBUSY) })
		})
		return dir
	}
	skip(t, "needs a hierarchy of cgroups that it may write to")
	return ""
}

// cgroupMounts are where hierarchies are mounted that take a process without
// further ado.
func cgroupMounts(t *testing.T) (v2first []string) {
	t.Helper()
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var v1 []string
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case f[2] == "cgroup2":
			v2first = append(v2first, f[1])
		case f[2] == "cgroup" && !strings.Contains(f[3], "cpuset"): // which wants CPUs first
			v1 = append(v1, f[1])
		}
	}
	return append(v2first, v1...)
}

// wantFrozen checks that a process is frozen, with all of its cgroup: it does nothing
// until that is thawed.
func wantFrozen(t *testing.T, pid int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		path := strings.SplitN(strings.TrimSpace(line), ":", 3)[2]
		for _, mount := range cgroupMounts(t) {
			v1, _ := os.ReadFile(filepath.Join(mount, path, "freezer.state"))
			v2, _ := os.ReadFile(filepath.Join(mount, path, "cgroup.events"))
			if string(v1) == "FROZEN\n" || strings.Contains(string(v2), "frozen 1\n") {
				return
			}
		}
	}
	t.Errorf("process %d is not frozen; its cgroups are\n%s", pid, b)
}

// matches tells whether text is what a pattern describes; the empty one is for
// the empty text.
func matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	return regexp.MustCompile("(?m)" + pattern).MatchString(text)
}
