package harness

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness/setup"
)

// Setup is what `worker stage` does before it becomes drainit.
type Setup = setup.Setup

// Launch is one start of an init.
type Launch struct {
	Under  []string // words before the init: a command that becomes it, or enters a container for it
	Bin    string   // the init; drainit if empty
	Args   []string // its arguments: flags and the worker's command
	Env    []string // added to the environment
	Dir    string
	NoPID1 bool // in the test's own PID namespace
	Setup  Setup
	TTY    *os.File // the controlling terminal, as standard input
	Stdin  *os.File // /dev/null to read and write if nil
	Stdout *os.File // read by the test if nil
	Stderr *os.File // read by the test if nil
	Files  []*os.File
	Trace  []string // arguments of a strace that sees drainit from its first instruction on

	// in place of all before TTY: it has the marker in its environment, or gives it on
	Cmd func(marker string) *exec.Cmd
}

// Init is a running init and what it and its worker have printed.
type Init struct {
	T       *testing.T
	Cmd     *exec.Cmd
	Drainit int    // the pid, in the test's namespace, of the init, which may be below the command
	Marker  string // in the environment of everything below it
	Stdout  *Output
	Stderr  *Output
	Done    chan struct{} // closed when it has been waited for
	Tracer  chan struct{} // closed when the strace that sees it has ended
	Status  syscall.WaitStatus
}

var launches atomic.Int64

// BothModes runs a test with drainit as PID 1 and not as PID 1.
func BothModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Run("PID 1", func(t *testing.T) { test(t, false) })
	t.Run("not PID 1", func(t *testing.T) { test(t, true) })
}

// WaitingModes is BothModes for a test that mostly waits.
func WaitingModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Parallel()
	BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		test(t, noPID1)
	})
}

// Run starts an init. Whatever of it is alive at the end of the test is killed then; of a test that
// has failed it shows before what was printed, and what waits.
func Run(t *testing.T, l Launch) *Init {
	dependOnProgram()
	p := &Init{T: t, Marker: NewMarker(), Done: make(chan struct{})}
	p.Cmd = l.command(t, p.Marker)
	p.Cmd.Stdin = cmp.Or(l.TTY, l.Stdin, devNull())
	p.Cmd.Stdout, p.Stdout = sink(t, l.Stdout)
	p.Cmd.Stderr, p.Stderr = sink(t, l.Stderr)
	defer p.Stdout.end.Close()
	defer p.Stderr.end.Close()
	begin := p.Cmd.Start
	if l.Trace != nil {
		begin = p.startTraced
	}
	err := begin()
	if p.Cmd.Process == nil {
		t.Fatalf("cannot start %s: %v", p.Cmd, err)
	}
	p.Drainit = p.Pid()
	go p.await()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s\nstdout:\n%s\nstderr:\n%s\n%s", p.Cmd, p.Stdout.Text(), p.Stderr.Text(), p.waits())
		}
		p.End()
	})
	Must(t, err)
	if l.Trace != nil {
		p.attach(l.Trace)
	}
	return p
}

// devNull is what Docker and containerd give to a container. os/exec opens it to read, as a shell
// does for what it starts in the background.
var devNull = sync.OnceValue(func() *os.File {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	return null
})

func (p *Init) await() {
	err := p.Cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		panic(err)
	}
	p.Status = p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	close(p.Done)
}

// command is a `worker stage` that becomes the init.
func (l Launch) command(t *testing.T, marker string) *exec.Cmd {
	if l.Cmd != nil {
		return l.Cmd(marker)
	}
	words := slices.Concat(l.Under, []string{cmp.Or(l.Bin, DrainitBin)}, l.Args)
	for _, interpreter := range []string{"perl", "dash", "bash", "node", "python3"} {
		if slices.Contains(words, interpreter) {
			Need(t, interpreter)
		}
	}
	if !strings.Contains(words[0], "/") {
		words[0] = PathOf(t, words[0])
	}
	l.Setup.Namespace, l.Setup.Hold = !l.NoPID1, l.Trace != nil
	stage, err := json.Marshal(l.Setup)
	Must(t, err)
	cmd := exec.Command(WorkerBin, append([]string{"stage"}, words...)...)
	cmd.Env = slices.Concat(os.Environ(), []string{"STAGE=" + string(stage), marker}, l.Env)
	cmd.Dir, cmd.ExtraFiles = l.Dir, l.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: l.TTY != nil} // of descriptor 0
	if !l.NoPID1 {
		if !makesPID1() {
			Skip(t, "needs root with CAP_SYS_ADMIN or user namespaces, to be PID 1")
		}
		InNamespaces(cmd.SysProcAttr)
	}
	return cmd
}

// makesPID1 is whether this machine lets the tests make namespaces.
var makesPID1 = sync.OnceValue(func() bool {
	try := exec.Command(WorkerBin, "stage", DrainitBin, "--version")
	try.Env = []string{`STAGE={"Namespace":true}`}
	try.SysProcAttr = &syscall.SysProcAttr{}
	InNamespaces(try.SysProcAttr)
	return try.Run() == nil
})

// InNamespaces has a process start in namespaces of its own. A user that is not root is mapped
// to root in one of users.
func InNamespaces(attr *syscall.SysProcAttr) {
	attr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	if os.Getuid() == 0 {
		return
	}
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
}

// Sources are what drainit is built of.
var Sources = []string{"main.go", "go.mod", "go.sum", "supervisor", "forward", "reaper", "internal"}

// dependOnProgram has go test run a test again when the program has changed: it knows a test
// by the files that it opens, and not by what it builds.
var dependOnProgram = sync.OnceFunc(func() {
	for _, name := range append(Sources, "test/cmd/worker") {
		_ = filepath.WalkDir(Repo(name), func(string, fs.DirEntry, error) error { return nil })
	}
})

// Pid is the init's pid in the test's own namespace.
func (p *Init) Pid() int { return p.Cmd.Process.Pid }

// Signal sends a signal to the init, which may have ended.
func (p *Init) Signal(sig syscall.Signal) {
	p.T.Helper()
	if p.Drainit != p.Pid() {
		Kill(p.T, p.Drainit, sig)
	} else if err := p.Cmd.Process.Signal(sig); !errors.Is(err, os.ErrProcessDone) {
		Must(p.T, err)
	}
}

// Wait waits for the end of the init and returns its exit status, 128+n where
// it died of signal n.
func (p *Init) Wait() int {
	p.T.Helper()
	select {
	case <-p.Done:
	case <-time.After(Patience):
		p.T.Fatalf("the init still runs after %v", Patience)
	}
	return statusOfEnd(p.Status)
}

func statusOfEnd(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// WantExit waits for the end of the init and checks its exit status, which is as that of Wait.
func (p *Init) WantExit(want int) {
	p.T.Helper()
	if got := p.Wait(); got != want {
		p.T.Errorf("exit status %d, want %d", got, want)
	}
}

// Running reports whether the init has not been waited for.
func (p *Init) Running() bool {
	select {
	case <-p.Done:
		return false
	default:
		return true
	}
}
