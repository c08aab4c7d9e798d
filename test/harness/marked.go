package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a test has started is known by a variable in its environment.

// newMarker is a variable for what a test starts, and for nothing else.
func newMarker() string { return markerOf(os.Getpid()) + strconv.FormatInt(launches.Add(1), 10) }

// markerOf is how the markers of a run of the tests begin.
func markerOf(pid int) string { return fmt.Sprintf("DRAINTEST=%d.", pid) }

// Alive returns the pids, in the test's namespace, of the living processes
// that the init started, and its own.
func (p *Init) Alive() []int { return marked(p.Marker + "\x00") }

// marked returns the pids of the living processes with a variable that begins so; the
// last ends with a NUL as each does.
func marked(marker string) []int {
	return slices.DeleteFunc(allPids(), func(pid int) bool { return !isMarked(pid, marker) })
}

// Hangs is what a process calls itself that is to hang in the kernel, under a lock for which
// each read of its environment waits: the tests of other packages do not look at it.
var Hangs = hangs + strconv.Itoa(os.Getpid())

const hangs = "hangs."

func isMarked(pid int, marker string) bool {
	if name := comm(pid); strings.HasPrefix(name, hangs) && name != Hangs {
		return false
	}
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
	return err == nil && bytes.Contains(append(env, 0), []byte(marker))
}

// KillAlive kills the living processes that the init started, and itself. To find them takes
// many reads, in which the pid of one that ends may become another's, of another test.
func (p *Init) KillAlive() {
	for _, pid := range p.Alive() {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue // it has ended
		}
		if isMarked(pid, p.Marker+"\x00") {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
		}
		_ = unix.Close(fd)
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
	WaitUntil(p.T, fmt.Sprintf("a process with pid %d inside", inside), func() bool {
		// Below the init first: those of others need not be read then.
		for _, among := range []func() []int{p.Below, p.Alive} {
			pids := among()
			if i := slices.IndexFunc(pids, func(pid int) bool { return PidInside(pid) == inside }); i >= 0 {
				pid = pids[i]
				return true
			}
		}
		return false
	})
	return pid
}

// WaitUntilStarted waits until the init has forked its worker.
func (p *Init) WaitUntilStarted() {
	p.T.Helper()
	WaitUntil(p.T, "the worker has started", func() bool { return p.FirstChild() != 0 })
}

// FirstChild is the pid, in the test's namespace, of a child of the init, 0 if
// it has none. It is quick enough to see a worker the moment it is forked.
func (p *Init) FirstChild() (pid int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.Pid()))
	_, _ = fmt.Sscan(string(b), &pid) // which fails where there is none
	return pid
}
