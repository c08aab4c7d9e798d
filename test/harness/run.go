package harness

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Ran is what came of a program that has ended.
type Ran struct {
	Status   int // 128+n where signal n ended it
	Out, Err string
}

// RunToEnd runs an init to its end, as Wait does.
func RunToEnd(t *testing.T, l Launch) Ran {
	t.Helper()
	p := Run(t, l)
	status := p.Wait()
	return Ran{status, p.Out(), p.Err()}
}

// Finish runs a command, which is no init's, to its end.
func Finish(t *testing.T, cmd *exec.Cmd) Ran {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, Patience // what it leaves may hold the pipes
	Must(t, cmd.Start())
	late := time.AfterFunc(4*Patience, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	r := Ran{statusOfEnd(cmd.ProcessState.Sys().(syscall.WaitStatus)), stdout.String(), stderr.String()}
	if exit := (*exec.ExitError)(nil); !late.Stop() || err != nil && !errors.As(err, &exit) {
		t.Errorf("%s does not end well: %v, %+v", cmd, err, r)
		r.Status = -1
	}
	return r
}

// OutputOf is the standard output of a command that must succeed.
func OutputOf(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	r := Finish(t, cmd)
	if r.Status != 0 {
		t.Fatalf("%s: exit status %d\n%s%s", cmd, r.Status, r.Out, r.Err)
	}
	return strings.TrimSuffix(r.Out, "\n")
}

// WantQuietRun checks that the worker printed just this and ended with 0, and
// that drainit had nothing to say.
func (r Ran) WantQuietRun(t *testing.T, want string) {
	t.Helper()
	if (r != Ran{Out: want}) {
		t.Errorf("%+v, want %q", r, want)
	}
}

// Hiding starts drainit as an ordinary user under a /proc that shows to each
// user only what is its own (hidepid=2, proc(5)).
func Hiding(t *testing.T, flags []string, command ...string) *Init {
	Need(t, "setpriv")
	NeedRoot(t)
	under := []string{"/bin/sh", "-c",
		`mount -o remount,hidepid=2 /proc && exec setpriv --reuid="$0" --regid="$0" --clear-groups "$@"`,
		strconv.Itoa(OwnUID())}
	return Run(t, Launch{Under: under, Args: Line(flags, command...)})
}

// Ask is one call of a subcommand inside a container, as an engine's exec makes it:
// of no parent there.
type Ask struct {
	Bin    string // drainit there, if it is another file than outside
	Env    []string
	UID    int
	Cgroup string // a folder: who asks joins it
}

// Answer is what came of it.
type Answer struct {
	T    *testing.T
	args []string
	Ran
}

// Ask calls a subcommand in the container of an init.
func (p *Init) Ask(args ...string) Answer { p.T.Helper(); return p.AskAs(Ask{}, args...) }

// AskAs runs a subcommand beside the init, in the way that its fields say.
func (p *Init) AskAs(a Ask, args ...string) Answer {
	p.T.Helper()
	NeedAsk(p.T)
	command := slices.Concat(p.Entering(a.UID, a.Cgroup), []string{cmp.Or(a.Bin, DrainitBin)}, args)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), p.Marker), a.Env...)
	return Answer{p.T, args, Finish(p.T, cmd)}
}

// Entering is the beginning of a command line that runs the rest of it in the
// container of an init, as this user and in this cgroup.
func (p *Init) Entering(uid int, cgroup string) (command []string) {
	if cgroup != "" {
		command = Joining(cgroup)
	}
	command = append(command, "nsenter", "-t", strconv.Itoa(p.Pid()), "-p", "-m", "-r", "-w")
	if uid != 0 {
		command = append(command, "-S", strconv.Itoa(uid), "-G", strconv.Itoa(uid))
	}
	return append(command, "--")
}

// NeedAsk skips a test that lacks what a subcommand is run with.
func NeedAsk(t *testing.T) {
	Need(t, "nsenter")
	NeedRoot(t)
}

// Want checks the exit status and what was printed: nothing where a pattern is
// empty, one line or more that match where it is not.
func (a Answer) Want(status int, out, err string) {
	a.T.Helper()
	if a.Status != status || !Matches(out, a.Out) || !Matches(err, a.Err) {
		a.T.Errorf("drainit %q: exit status %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", a.args,
			a.Status, status, out, a.Out, err, a.Err)
	}
}

// WantSilent checks for exit status 0 and no output.
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

// Matches tells whether text is what a pattern describes; the empty one is for
// the empty text.
func Matches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	return regexp.MustCompile("(?m)" + pattern).MatchString(text)
}
