package harness

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What /proc says of a process, by its pid in the test's namespace.

// task is a process as /proc/PID/stat shows it.
type task struct {
	Pid, Ppid, Group int
	Comm             string
	State            byte
}

// TaskOf is the zero task if there is no such process.
func TaskOf(pid int) (p task) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return task{}
	}
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	p = task{Pid: pid, Comm: string(b[from+1 : to]), State: b[to+2]}
	if n, err := fmt.Sscan(string(b[to+3:]), &p.Ppid, &p.Group); n != 2 {
		panic(err)
	}
	return p
}

// StateOf is the state letter of a process, 0 if there is none.
func StateOf(pid int) byte { return TaskOf(pid).State }

// Comm is the name of a process: drainit shows its title there. The kernel changes it while it may
// be read, so that a part of the old one can show after the new one: what is read twice counts.
func Comm(pid int) string {
	for last := "\n"; ; {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)) // empty if it has gone
		now := strings.TrimSpace(string(b))
		if now == last {
			return now
		}
		last = now
	}
}

// statusOf is a field of a process's status, "" if it has gone.
func statusOf(pid int, field string) string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, value, _ := strings.Cut(string(status), "\n"+field+":")
	value, _, _ = strings.Cut(value, "\n")
	return strings.TrimSpace(value)
}

// StatusField is a number in /proc/PID/status, in kB where it is a size.
func StatusField(t *testing.T, pid int, field string) (n int) {
	t.Helper()
	_, err := fmt.Sscan(statusOf(pid, field), &n)
	Must(t, err)
	return n
}

// SignalMask is one of the masks in /proc/PID/status, bit n-1 for signal n.
func SignalMask(t *testing.T, pid int, name string) uint64 {
	t.Helper()
	mask, err := strconv.ParseUint(statusOf(pid, name), 16, 64)
	Must(t, err)
	return mask
}

// PidInside is a process's pid in its own namespace, "" if it has gone.
func PidInside(pid int) string {
	pids := statusOf(pid, "NSpid")
	return pids[strings.LastIndexByte(pids, '\t')+1:]
}

// OpenFiles is how many descriptors a process has, 0 if it has gone.
func OpenFiles(pid int) int { fds, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)); return len(fds) }

// threadsOf lists the threads of a process by their ids, none if it has gone.
func threadsOf(pid int) (tids []int) {
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	for _, thread := range threads {
		if tid, err := strconv.Atoi(thread.Name()); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids
}

// IsTraced reports whether each thread of a process is traced: any of them may take a signal.
func IsTraced(pid int) bool {
	return !slices.ContainsFunc(threadsOf(pid),
		func(tid int) bool { return statusOf(tid, "TracerPid") == "0" })
}

// DescriptorsOf lists the descriptors of a process but those of the Go
// runtime's own event queue, which are no files.
func DescriptorsOf(pid int) (all string) {
	for fd := range 100 {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, fd))
		if err == nil && !strings.HasPrefix(to, "anon_inode:") {
			all += fmt.Sprintf("%d %s\n", fd, to)
		}
	}
	return all
}

// ofThreads is a file of each thread of a process, none if it has gone.
func ofThreads(pid int, file string) (all []string) {
	paths, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file)) // fails for a bad pattern only
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil {
			all = append(all, string(b))
		}
	}
	return all
}

var switches = regexp.MustCompile(`_ctxt_switches:\s+(\d+)`)

// WakeUps is how often the threads of a process have been put to sleep.
func WakeUps(t *testing.T, pid int) (n int) {
	t.Helper()
	for _, m := range switches.FindAllStringSubmatch(strings.Join(ofThreads(pid, "status"), ""), -1) {
		times, _ := strconv.Atoi(m[1])
		n += times
	}
	if n == 0 {
		t.Fatalf("no thread of %d", pid)
	}
	return n
}

// RunTime is how long the threads of a process, which may have gone, have run
// (Documentation/scheduler/sched-stats.rst).
func RunTime(pid int) (all time.Duration) {
	for _, stat := range ofThreads(pid, "schedstat") {
		var ran time.Duration
		_, _ = fmt.Sscan(stat, &ran) // it may be empty
		all += ran
	}
	return all
}

// isRunnable reports whether a thread of a process runs, waits for a processor, or for whoever
// traces it.
func isRunnable(pid int) bool {
	return slices.ContainsFunc(ofThreads(pid, "stat"), func(stat string) bool {
		return strings.ContainsAny(stat[strings.LastIndexByte(stat, ')')+2:][:1], "Rt")
	})
}

// ChildPids returns the children of a process, living and dead.
func ChildPids(pid int) (pids []int) {
	for word := range strings.FieldsSeq(strings.Join(ofThreads(pid, "children"), "")) {
		if child, err := strconv.Atoi(word); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// Kill sends a signal to a process, or with -pid to a group, which has to be there.
func Kill(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("cannot send %v to %d: %v", sig, pid, err)
	}
}

// Freeze stops a process, as a debugger or a shell's Ctrl-Z would.
func Freeze(t *testing.T, pid int) {
	t.Helper()
	Kill(t, pid, syscall.SIGSTOP)
	WaitUntil(t, "stopped", func() bool { return StateOf(pid) == 'T' })
}

// What a test has started is known by a variable in its environment.

// NewMarker is a variable for what a test starts, and for nothing else.
func NewMarker() string { return markerOf(os.Getpid()) + strconv.FormatInt(launches.Add(1), 10) }

// markerOf is how the markers of a run of the tests begin.
func markerOf(pid int) string { return fmt.Sprintf("DRAINTEST=%d.", pid) }

// Hangs is what a process calls itself that is to hang in the kernel, under a lock for which
// each read of its environment waits: the tests of other packages do not look at it.
var Hangs = hangs + strconv.Itoa(os.Getpid())

const hangs = "hangs."

// Alive returns the pids, in the test's namespace, of the living processes
// that the init started, and its own.
func (p *Init) Alive() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*") // fails for a bad pattern only
	for _, path := range all {
		if pid, err := strconv.Atoi(filepath.Base(path)); err == nil && p.started(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// started reports whether a process has the init's marker.
func (p *Init) started(pid int) bool {
	if name := Comm(pid); strings.HasPrefix(name, hangs) && name != Hangs {
		return false
	}
	env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty if it has gone
	return bytes.Contains(append(env, 0), []byte(p.Marker+"\x00"))
}

// End kills what is left of the init and what it started. To find that takes many reads, in
// which the pid of a process that ends may become another's, of another test.
func (p *Init) End() {
	_ = p.Cmd.Process.Kill()
	<-p.Done
	if p.Tracer != nil {
		<-p.Tracer
	}
	for _, pid := range p.Alive() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		if p.started(pid) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
	}
}

// Prefer has the processes go before others, where root runs the tests: what a program does within a set time
// takes longer than that on a busy machine.
func (p *Init) Prefer() {
	p.T.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, pid := range p.Alive() {
		for _, tid := range threadsOf(pid) { // the priority is a thread's
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, tid, -20); err != nil &&
				!errors.Is(err, syscall.ESRCH) {
				p.T.Error(err)
			}
		}
		// Where each session has a share of its own, that counts instead (sched(7)).
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), []byte("-20"), 0)
	}
}

// Below returns the pids, in the test's namespace, of the init and of all processes below it.
// It does not look at those of others, which may be thousands.
func (p *Init) Below() []int {
	pids := []int{p.Pid()}
	for n := 0; n < len(pids); n++ {
		pids = append(pids, ChildPids(pids[n])...)
	}
	return pids
}

// WantNothingLeft checks, after the end, that nothing the init started lives.
func (p *Init) WantNothingLeft() {
	p.T.Helper()
	// The kernel may be still burying them: that is not ours to wait for, but theirs.
	WaitUntil(p.T, "nothing is left alive", func() bool { return len(p.Alive()) == 0 })
}

// HostPid translates a pid of the init's namespace to one of the test's.
func (p *Init) HostPid(inside int) (pid int) {
	p.T.Helper()
	// In the middle of an exec a process shows no environment.
	is := func(outside int) bool { pid = outside; return PidInside(pid) == strconv.Itoa(inside) }
	WaitUntil(p.T, fmt.Sprintf("a process with pid %d inside", inside), func() bool {
		// Below the init first: those of others need not be read then.
		return slices.ContainsFunc(p.Below(), is) || slices.ContainsFunc(p.Alive(), is)
	})
	return pid
}

// FirstChild is the pid, in the test's namespace, of a child of the init, 0 if
// it has none. It is quick enough to see a worker the moment it is forked.
func (p *Init) FirstChild() (pid int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.Pid()))
	_, _ = fmt.Sscan(string(b), &pid) // which fails where there is none
	return pid
}
