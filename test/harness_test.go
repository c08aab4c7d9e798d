package test

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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen: long enough for
// a busy machine, and no test's own measure of time.
const patience = time.Minute

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
	Stdin  *os.File
	Stdout *os.File // read by the test if nil
	Stderr *os.File // read by the test if nil
	Files  []*os.File
	Trace  []string // arguments of a strace that sees drainit from its first instruction on
}

// Init is a running init and what it and its worker have printed.
type Init struct {
	t      *testing.T
	cmd    *exec.Cmd
	marker string // in the environment of everything below it
	stdout *output
	stderr *output
	done   chan struct{} // closed when it has been waited for
	trace  []string      // arguments of the strace that sees it from its exec on
	tracer chan struct{} // closed when that has ended
	status syscall.WaitStatus
}

var launches atomic.Int64

// bothModes runs a test with drainit as PID 1 and not as PID 1.
func bothModes(t *testing.T, test func(t *testing.T, noPID1 bool)) {
	t.Helper()
	t.Run("PID 1", func(t *testing.T) { test(t, false) })
	t.Run("not PID 1", func(t *testing.T) { test(t, true) })
}

// start starts drainit with these arguments as PID 1.
func start(t *testing.T, args ...string) *Init {
	t.Helper()
	return launch(t, Launch{Args: args})
}

// launch starts an init. Whatever of it is alive at the end of the test is
// killed then.
func launch(t *testing.T, l Launch) *Init {
	t.Helper()
	p := newInit(t)
	if l.Bin == "" {
		l.Bin = drainitBin
	}
	if p.trace = l.Trace; p.trace == nil && *callsFile != "" && l.Bin == drainitBin {
		p.trace = counting()
	}
	l.Setup.Namespace, l.Setup.Hold = !l.NoPID1, p.trace != nil
	setup, err := json.Marshal(l.Setup)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(workerBin, append([]string{"stage", l.Bin}, l.Args...)...)
	p.cmd.Env = append(append(os.Environ(), "STAGE="+string(setup), p.marker), l.Env...)
	p.cmd.Dir = l.Dir
	p.cmd.ExtraFiles = l.Files
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !l.NoPID1 {
		p.cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
		if os.Getuid() != 0 {
			asRoot(p.cmd.SysProcAttr)
		}
	}
	if l.TTY != nil {
		l.Stdin, l.Stdout, l.Stderr = l.TTY, l.TTY, l.TTY
		p.cmd.SysProcAttr.Setctty = true // of descriptor 0
	}
	if l.Stdin != nil {
		p.cmd.Stdin = l.Stdin
	}
	p.start(l.Stdout, l.Stderr)
	return p
}

// newInit is an init that has not been started, and has no command yet.
func newInit(t *testing.T) *Init {
	return &Init{t: t, marker: newMarker(), done: make(chan struct{})}
}

// newMarker is a variable for what a test starts, and for nothing else.
func newMarker() string { return markerOf(os.Getpid()) + strconv.FormatInt(launches.Add(1), 10) }

// markerOf is how the markers of a run of the tests begin.
func markerOf(pid int) string { return fmt.Sprintf("DRAINTEST=%d.", pid) }

// start starts the command, which has the marker in its environment or gives it
// to what it starts. A nil output is read by the test.
func (p *Init) start(ownStdout, ownStderr *os.File) {
	p.t.Helper()
	var stdout, stderr *os.File
	stdout, p.stdout = sink(p.t, ownStdout)
	stderr, p.stderr = sink(p.t, ownStderr)
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	begin := p.cmd.Start
	if p.trace != nil {
		begin = p.startTraced
	}
	if err := begin(); err != nil {
		p.t.Fatalf("cannot start %s: %v", p.cmd, err)
	}
	if ownStdout == nil {
		stdout.Close() // the child's end
	}
	if ownStderr == nil {
		stderr.Close()
	}
	go p.await()
	p.t.Cleanup(p.end)
}

// asRoot maps the user to root in a user namespace of its own.
func asRoot(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
}

func (p *Init) await() {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		panic(err)
	}
	p.status = p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	close(p.done)
}

// end kills what is left of the init and what it started.
func (p *Init) end() {
	_ = p.cmd.Process.Kill()
	<-p.done
	if p.tracer != nil {
		<-p.tracer
	}
	for _, pid := range p.alive() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Pid is the init's pid in the test's own namespace.
func (p *Init) Pid() int { return p.cmd.Process.Pid }

// signal sends a signal to the init.
func (p *Init) signal(sig syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Fatalf("cannot send %v to the init: %v", sig, err)
	}
}

// pastTheSameRequest returns when one more stop signal is a request of its own: well
// past the 100 ms within which it is the same one, delivered twice.
func pastTheSameRequest() { time.Sleep(300 * time.Millisecond) }

// wait waits for the end of the init and returns its exit status, 128+n where
// it died of signal n.
func (p *Init) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatalf("the init still runs after %v\nstdout:\n%s\nstderr:\n%s", patience, p.stdout.text(), p.stderr.text())
	}
	if p.status.Signaled() {
		return 128 + int(p.status.Signal())
	}
	return p.status.ExitStatus()
}

// wantExit waits for the end and compares the exit status.
func (p *Init) wantExit(want int) {
	p.t.Helper()
	if got := p.wait(); got != want {
		p.t.Errorf("exit status %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, p.stdout.text(), p.stderr.text())
	}
}

// running reports whether the init has not ended yet.
func (p *Init) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// waitOut waits until standard output matches a pattern and returns the match
// and its groups.
func (p *Init) waitOut(pattern string) []string { p.t.Helper(); return p.waitFor(p.stdout, pattern) }

// waitErr is waitOut for standard error.
func (p *Init) waitErr(pattern string) []string { p.t.Helper(); return p.waitFor(p.stderr, pattern) }

func (p *Init) waitFor(o *output, pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	deadline := time.After(patience)
	for {
		text, more := o.look()
		if m := re.FindStringSubmatch(text); m != nil {
			return m
		}
		select {
		case <-more:
		case <-deadline:
			p.t.Fatalf("no %q\nstdout:\n%s\nstderr:\n%s", pattern, p.stdout.text(), p.stderr.text())
		}
	}
}

// out and err are what came so far on standard output and standard error. Once
// the init has ended they wait until nothing holds the pipe any more.
func (p *Init) out() string { return p.all(p.stdout) }
func (p *Init) err() string { return p.all(p.stderr) }

func (p *Init) all(o *output) string {
	p.t.Helper()
	if !p.running() && o.eof != nil {
		select {
		case <-o.eof:
		case <-time.After(patience):
			p.t.Errorf("a process still holds the pipe %v after the end", patience)
		}
	}
	return o.text()
}

// alive returns the pids, in the test's namespace, of the living processes
// that the init started, and its own.
func (p *Init) alive() []int { return marked(p.marker + "\x00") }

// marked returns the pids of the living processes with a variable that begins so; the
// last ends with a NUL as each does.
func marked(marker string) []int {
	var pids []int
	for _, pid := range allPids() {
		env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err == nil && bytes.Contains(append(env, 0), []byte(marker)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// wantNothingLeft checks, after the end, that nothing the init started lives.
func (p *Init) wantNothingLeft() {
	p.t.Helper()
	// The kernel may be still burying them: that is not ours to wait for, but theirs.
	waitUntil(p.t, "nothing is left alive", func() bool { return len(p.alive()) == 0 })
}

// hostPid translates a pid of the init's namespace to one of the test's.
func (p *Init) hostPid(inside int) (pid int) {
	p.t.Helper()
	// In the middle of an exec a process shows no environment.
	waitUntil(p.t, fmt.Sprintf("a process with pid %d inside", inside), func() bool {
		pid = p.findInside(inside)
		return pid != 0
	})
	return pid
}

func (p *Init) findInside(inside int) int {
	for _, pid := range p.alive() {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			if f := strings.Fields(line); f[0] == "NSpid:" && f[len(f)-1] == strconv.Itoa(inside) {
				return pid
			}
		}
	}
	return 0
}

func allPids() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killLine is in each line that says what drainit kills or has killed.
const killLine = `killing |[:;] killed `

// stateOf is the state letter of a process in /proc, 0 if there is none.
func stateOf(pid int) byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return b[bytes.LastIndexByte(b, ')')+2]
}

// waitUntil waits for something that can only be looked at.
func waitUntil(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// output collects what comes through a pipe.
type output struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{} // closed and replaced when something came
	eof  chan struct{} // closed at the end; nil where the caller reads
}

// sink returns the write end for a child: the caller's own, or that of a pipe
// which an output reads.
func sink(t *testing.T, own *os.File) (*os.File, *output) {
	o := &output{more: make(chan struct{})}
	if own != nil {
		return own, o
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o.eof = make(chan struct{})
	go o.read(r)
	return w, o
}

func (o *output) read(r *os.File) {
	defer r.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := r.Read(chunk)
		o.mu.Lock()
		o.buf.Write(chunk[:n])
		close(o.more)
		o.more = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			close(o.eof)
			return
		}
	}
}

func (o *output) look() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String(), o.more
}

func (o *output) text() string { s, _ := o.look(); return s }

// need skips a test that lacks a program, or fails it where all must run, as in CI.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			skip(t, "needs the program "+program)
		}
	}
}

// pathOf is where a program is that the test needs.
func pathOf(t *testing.T, program string) string {
	t.Helper()
	need(t, program)
	path, err := exec.LookPath(program)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func skip(t *testing.T, why string) {
	t.Helper()
	if mustRunAll {
		t.Fatal(why)
	}
	t.Skip(why)
}
