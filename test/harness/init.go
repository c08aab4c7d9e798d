package harness

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Setup is what `worker stage` does before it becomes drainit; see there.
type Setup struct {
	Namespace   bool
	Proc        string
	ReadOnly    bool
	Root        string
	UID         int
	Docker      bool
	MaxProcs    uint64
	Ignore      []int
	Block       []int
	CloseStderr bool
	Setsid      bool
	Hold        bool
}

// Launch is one start of an init.
type Launch struct {
	Bin    string   // the init; drainit if empty
	Args   []string // its arguments: flags and the worker's command
	Env    []string // added to the environment
	Dir    string
	NoPID1 bool // in the test's own PID namespace
	Setup  Setup
	TTY    *os.File // the controlling terminal, and 0, 1 and 2
	Stdin  *os.File // Docker's if nil; see dockerStdin
	Stdout *os.File // read by the test if nil
	Stderr *os.File // read by the test if nil
	Files  []*os.File
	Trace  []string // arguments of a strace that sees drainit from its first instruction on
}

// Init is a running init and what it and its worker have printed.
type Init struct {
	T      *testing.T
	Cmd    *exec.Cmd
	Marker string // in the environment of everything below it
	Stdout *Output
	Stderr *Output
	Done   chan struct{} // closed when it has been waited for
	trace  []string      // arguments of the strace that sees it from its exec on
	Tracer chan struct{} // closed when that has ended
	Status syscall.WaitStatus
}

var launches atomic.Int64

// BothModes runs a test with drainit as PID 1 and not as PID 1.
func BothModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Helper()
	t.Run("PID 1", func(t *testing.T) { test(t, false) })
	t.Run("not PID 1", func(t *testing.T) { test(t, true) })
}

// Start starts drainit with these arguments as PID 1.
func Start(t *testing.T, args ...string) *Init {
	t.Helper()
	return Run(t, Launch{Args: args})
}

// Run starts an init. Whatever of it is alive at the end of the test is
// killed then.
func Run(t *testing.T, l Launch) *Init {
	t.Helper()
	for _, interpreter := range []string{"perl", "dash", "bash", "node", "python3"} {
		if slices.Contains(l.Args, interpreter) {
			Need(t, interpreter)
		}
	}
	if !l.NoPID1 {
		NeedNamespaces(t)
	}
	p := NewInit(t)
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	if p.trace = l.Trace; p.trace == nil && *callsFile != "" && l.Bin == DrainitBin {
		p.trace = counting()
	}
	l.Setup.Namespace, l.Setup.Hold = !l.NoPID1, p.trace != nil
	setup, err := json.Marshal(l.Setup)
	if err != nil {
		t.Fatal(err)
	}
	p.Cmd = exec.Command(WorkerBin, append([]string{"stage", l.Bin}, l.Args...)...)
	p.Cmd.Env = append(append(os.Environ(), "STAGE="+string(setup), p.Marker), l.Env...)
	p.Cmd.Dir = l.Dir
	p.Cmd.ExtraFiles = l.Files
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !l.NoPID1 {
		inNamespaces(p.Cmd.SysProcAttr)
	}
	if l.TTY != nil {
		l.Stdin, l.Stdout, l.Stderr = l.TTY, l.TTY, l.TTY
		p.Cmd.SysProcAttr.Setctty = true // of descriptor 0
	}
	if l.Stdin != nil {
		p.Cmd.Stdin = l.Stdin
	}
	p.Start(l.Stdout, l.Stderr)
	return p
}

// NewInit is an init that has not been started, and has no command yet.
func NewInit(t *testing.T) *Init {
	dependOnProgram()
	return &Init{T: t, Marker: NewMarker(), Done: make(chan struct{})}
}

// dependOnProgram has go test run a test again when the program has changed: it knows a test
// by the files that it opens, and not by what it builds.
var dependOnProgram = sync.OnceFunc(func() {
	for _, name := range []string{"main.go", "go.mod", "go.sum"} {
		_, _ = os.Stat(Repo(name))
	}
	for _, name := range []string{"supervisor", "forward", "reaper", "internal", "test/cmd/worker"} {
		_ = filepath.WalkDir(Repo(name), func(string, fs.DirEntry, error) error { return nil })
	}
})

// Start starts the command, which has the marker in its environment or gives it
// to what it starts. A nil output is read by the test.
func (p *Init) Start(ownStdout, ownStderr *os.File) {
	p.T.Helper()
	var stdout, stderr *os.File
	stdout, p.Stdout = sink(p.T, ownStdout)
	stderr, p.Stderr = sink(p.T, ownStderr)
	p.Cmd.Stdout, p.Cmd.Stderr = stdout, stderr
	if p.Cmd.Stdin == nil {
		null := dockerStdin(p.T)
		defer null.Close()
		p.Cmd.Stdin = null
	}
	begin := p.Cmd.Start
	if p.trace != nil {
		begin = p.startTraced
	}
	if err := begin(); err != nil {
		p.T.Fatalf("cannot start %s: %v", p.Cmd, err)
	}
	if ownStdout == nil {
		stdout.Close() // the child's end
	}
	if ownStderr == nil {
		stderr.Close()
	}
	go p.await()
	p.T.Cleanup(p.End)
}

// dockerStdin is the standard input that Docker and containerd give a container: /dev/null,
// opened to read and write. os/exec opens it to read, as a shell does for what it starts in
// the background.
func dockerStdin(t *testing.T) *os.File {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return null
}

func (p *Init) await() {
	err := p.Cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		panic(err)
	}
	p.Status = p.Cmd.ProcessState.Sys().(syscall.WaitStatus)
	close(p.Done)
}

// End kills what is left of the init and what it started.
func (p *Init) End() {
	_ = p.Cmd.Process.Kill()
	<-p.Done
	if p.Tracer != nil {
		<-p.Tracer
	}
	p.KillAlive()
}

// Pid is the init's pid in the test's own namespace.
func (p *Init) Pid() int { return p.Cmd.Process.Pid }

// Signal sends a signal to the init.
func (p *Init) Signal(sig syscall.Signal) {
	p.T.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.T.Fatalf("cannot send %v to the init: %v", sig, err)
	}
}

// Wait waits for the end of the init and returns its exit status, 128+n where
// it died of signal n.
func (p *Init) Wait() int {
	p.T.Helper()
	select {
	case <-p.Done:
	case <-time.After(Patience):
		p.T.Fatalf("the init still runs after %v\nstdout:\n%s\nstderr:\n%s\n%s", Patience, p.Stdout.Text(), p.Stderr.Text(), p.Waits())
	}
	if p.Status.Signaled() {
		return 128 + int(p.Status.Signal())
	}
	return p.Status.ExitStatus()
}

// WantExit waits for the end and compares the exit status.
func (p *Init) WantExit(want int) {
	p.T.Helper()
	if got := p.Wait(); got != want {
		p.T.Errorf("exit status %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, p.Stdout.Text(), p.Stderr.Text())
	}
}

// Running reports whether the init has not ended yet.
func (p *Init) Running() bool {
	select {
	case <-p.Done:
		return false
	default:
		return true
	}
}

// WaitOut waits until standard output matches a pattern and returns the match
// and its groups.
func (p *Init) WaitOut(pattern string) []string { p.T.Helper(); return p.WaitFor(p.Stdout, pattern) }

// WaitErr is WaitOut for standard error.
func (p *Init) WaitErr(pattern string) []string { p.T.Helper(); return p.WaitFor(p.Stderr, pattern) }

// WaitFor waits until an output matches a pattern and returns the match and its groups.
func (p *Init) WaitFor(o *Output, pattern string) []string {
	p.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(Patience)
	for over := ""; ; {
		text, more := o.Look()
		if m := re.FindStringSubmatch(text); m != nil {
			return m
		}
		if over != "" {
			p.T.Fatalf("no %q %s\nstdout:\n%s\nstderr:\n%s\n%s", pattern, over, p.Stdout.Text(), p.Stderr.Text(), p.Waits())
		}
		select {
		case <-more:
		case <-o.Eof:
			over = "to the end of the output"
		case <-deadline:
			over = fmt.Sprint("in ", Patience)
		}
	}
}

// Out and err are what came so far on standard output and standard error. Once
// the init has ended they wait until nothing holds the pipe any more.
func (p *Init) Out() string { return p.all(p.Stdout) }

// Err is Out for standard error.
func (p *Init) Err() string { return p.all(p.Stderr) }

func (p *Init) all(o *Output) string {
	p.T.Helper()
	if !p.Running() && o.Eof != nil {
		select {
		case <-o.Eof:
		case <-time.After(Patience):
			p.T.Errorf("a process still holds the pipe %v after the end", Patience)
		}
	}
	return o.Text()
}

// KillLine is in each line that says what drainit kills or has killed.
const KillLine = `killing |[:;] killed `
