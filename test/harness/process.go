package harness

import (
	"bytes"
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
)

// What /proc says of a process, by its pid in the test's namespace.

func allPids() (all []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// task is a process as /proc/PID/stat shows it.
type task struct {
	pid, Ppid, Group, session int
	Front                     int // the foreground group of its terminal
	Comm                      string
	State                     byte
}

// TaskOf is the zero task if there is no such process.
func TaskOf(pid int) (p task) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return task{}
	}
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	p = task{pid: pid, Comm: string(b[from+1 : to]), State: b[to+2]}
	terminal := 0
	if n, err := fmt.Sscan(string(b[to+3:]), &p.Ppid, &p.Group, &p.session, &terminal, &p.Front); n != 5 {
		panic(err)
	}
	return p
}

// StateOf is the state letter of a process, 0 if there is none.
func StateOf(pid int) byte { return TaskOf(pid).State }

// Comm is the name of a process: drainit shows its title there. The kernel changes it while it may
// be read, so that a part of the old one can show after the new one: what is read twice counts.
func Comm(pid int) string {
	last := comm(pid)
	for now := comm(pid); now != last; now = comm(pid) {
		last = now
	}
	return last
}

func comm(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

// statusOf are the lines of a process's status by their names, none if it has gone.
func statusOf(pid int) map[string]string {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	all := make(map[string]string)
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		all[name] = strings.TrimSpace(value)
	}
	return all
}

// StatusField is a number in /proc/PID/status, in kB where it is a size.
func StatusField(t *testing.T, pid int, field string) int {
	t.Helper()
	n := 0
	if _, err := fmt.Sscan(statusOf(pid)[field], &n); err != nil {
		t.Fatalf("%s of process %d: %v", field, pid, err)
	}
	return n
}

// SignalMask is one of the masks in /proc/PID/status, bit n-1 for signal n.
func SignalMask(t *testing.T, pid int, name string) uint64 {
	t.Helper()
	mask, err := strconv.ParseUint(statusOf(pid)[name], 16, 64)
	if err != nil {
		t.Fatalf("%s of process %d: %v", name, pid, err)
	}
	return mask
}

// IgnoredBy is the set of signals that a process ignores.
func IgnoredBy(t *testing.T, pid int) uint64 { t.Helper(); return SignalMask(t, pid, "SigIgn") }

// PidInside is a process's pid in its own namespace, 0 if it has gone.
func PidInside(pid int) (inside int) {
	if pids := strings.Fields(statusOf(pid)["NSpid"]); len(pids) > 0 {
		inside, _ = strconv.Atoi(pids[len(pids)-1])
	}
	return inside
}

// OpenFiles counts the descriptors of a process.
func OpenFiles(t *testing.T, pid int) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}

// DescriptorsOf lists the descriptors of a process but those of the Go
// runtime's own event queue, which are no files.
func DescriptorsOf(t *testing.T, pid int) (all string) {
	t.Helper()
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

// Kill sends a signal to a process, which has to be there.
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
