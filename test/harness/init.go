package harness

import (
	"bytes"
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

	"drainit/test/harness/setup"
)

// Setup is what `worker stage` does before it becomes drainit.
type Setup = setup.Setup

// Launch is one start of an init.
type Launch struct {
	Bin    string   // the init; drainit if empty
	Args   []string // its arguments: flags and the worker's command
	Env    []string // added to the environment
	Dir    string
	NoPID1 bool // in the test's own PID namespace
	Setup  Setup
	TTY    *os.File // the controlling terminal, and 0, 1 and 2
	Stdin  *os.File // Docker's if nil: /dev/null to read and write
	Stdout *os.File // read by the test if nil
	Stderr *os.File // read by the test if nil
	Files  []*os.File
	Trace  []string // arguments of a strace that sees drainit from its first instruction on
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
	trace   []string      // arguments of the strace that sees it from its exec on
	Tracer  chan struct{} // closed when that has ended
	Status  syscall.WaitStatus
}

var launches atomic.Int64

// BothModes runs a test with drainit as PID 1 and not as PID 1.
func BothModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Helper()
	t.Run("PID 1", func(t *testing.T) { test(t, false) })
	t.Run("not PID 1", func(t *testing.T) { test(t, true) })
}

// WaitingModes is BothModes for a test that mostly waits.
func WaitingModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Helper()
	t.Parallel()
	BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		test(t, noPID1)
	})
}

// Start starts drainit with these arguments as PID 1.
func Start(t *testing.T, args ...string) *Init { t.Helper(); return Run(t, Launch{Args: args}) }

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
		needNamespaces(t)
	}
	p := NewInit(t)
	if l.Bin == "" {
		l.Bin = DrainitBin
	}
	p.trace = l.Trace
	l.Setup.Namespace, l.Setup.Hold = !l.NoPID1, p.trace != nil
	stage, err := json.Marshal(l.Setup)
	Must(t, err)
	p.Cmd = exec.Command(WorkerBin, append([]string{"stage", l.Bin}, l.Args...)...)
	p.Cmd.Env = append(append(os.Environ(), "STAGE="+string(stage), p.Marker), l.Env...)
	p.Cmd.Dir = l.Dir
	p.Cmd.ExtraFiles = l.Files
	p.Cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !l.NoPID1 {
		InNamespaces(p.Cmd.SysProcAttr)
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

// needNamespaces skips a test where no namespaces can be made.
func needNamespaces(t *testing.T) {
	t.Helper()
	if !makesPID1() {
		Skip(t, "needs root with CAP_SYS_ADMIN or user namespaces, to be PID 1")
	}
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

// NewInit is an init that has not been started, and has no command yet.
func NewInit(t *testing.T) *Init {
	dependOnProgram()
	return &Init{T: t, Marker: newMarker(), Done: make(chan struct{})}
}

// dependOnProgram has go test run a test again when the program has changed: it knows a test
// by the files that it opens, and not by what it builds.
var dependOnProgram = sync.OnceFunc(func() {
	for _, name := range []string{"main.go", "go.mod", "go.sum", "supervisor", "forward", "reaper", "internal", "test/cmd/worker"} {
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
		// As Docker and containerd give it to a container. os/exec opens it to read, as a shell
		// does for what it starts in the background.
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		Must(p.T, err)
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
	p.Drainit = p.Pid()
	if ownStdout == nil {
		stdout.Close() // the child's end
	}
	if ownStderr == nil {
		stderr.Close()
	}
	go p.await()
	p.T.Cleanup(p.End)
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
		p.T.Fatalf("the init still runs after %v\n%s\n%s", Patience, p.printed(), p.Waits())
	}
	return statusOfEnd(p.Status)
}

func statusOfEnd(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// printed is all that came so far, for a test that failed.
func (p *Init) printed() string {
	return "stdout:\n" + p.Stdout.Text() + "\nstderr:\n" + p.Stderr.Text()
}

// WantExit waits for the end and compares the exit status.
func (p *Init) WantExit(want int) {
	p.T.Helper()
	if got := p.Wait(); got != want {
		p.T.Errorf("exit status %d, want %d\n%s", got, want, p.printed())
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
			p.T.Fatalf("no %q %s\n%s\n%s", pattern, over, p.printed(), p.Waits())
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

// Out is what came so far on standard output. Once the init has ended it waits until nothing
// holds the pipe any more.
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

// Output collects what comes through a pipe.
type Output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	More chan struct{} // closed and replaced when something came
	Eof  chan struct{} // closed at the end; nil where the caller reads
}

// sink returns the write end for a child: the caller's own, or that of a pipe
// which an output reads.
func sink(t *testing.T, own *os.File) (*os.File, *Output) {
	o := &Output{More: make(chan struct{})}
	if own != nil {
		return own, o
	}
	r, w, err := os.Pipe()
	Must(t, err)
	o.Eof = make(chan struct{})
	go o.Read(r)
	return w, o
}

// Read collects what comes through a pipe, to its end.
func (o *Output) Read(r *os.File) {
	defer r.Close()
	defer close(o.Eof)
	for chunk := make([]byte, 64<<10); ; {
		n, err := r.Read(chunk)
		o.mu.Lock()
		o.buf.Write(chunk[:n])
		close(o.More)
		o.More = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Look is the text so far, and what is closed when more has come.
func (o *Output) Look() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.More
}

// Text is what has come so far.
func (o *Output) Text() string { s, _ := o.Look(); return s }
