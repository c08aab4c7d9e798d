package reaper

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// SignalNamespace sends a signal to every process of the PID namespace but
// drainit, and only if drainit is its PID 1: elsewhere it would reach the whole
// machine. It also reaches what an exec into the container has started.
func SignalNamespace(sig unix.Signal) error {
	if os.Getpid() != 1 {
		return errors.New("cannot signal the PID namespace: not its PID 1")
	}
	return wrapKill(unix.Kill(-1, sig))
}

// killPasses bounds one KillTree: what forks faster than that has the next call.
const killPasses = 500 * time.Millisecond

// KillTree sends SIGKILL to everything below drainit. As PID 1 that is one call
// of the kernel, which no fork escapes. Elsewhere it walks the descendants,
// again and again until a walk finds none new: they fork meanwhile.
// A worker that has not been waited for is given by its pid, else 0: its group
// goes first, so that something ends even without /proc.
// What hangs in the kernel can't be reached so, and is left to its group.
// The error names the first process that could not be killed.
func KillTree(worker int, r *proc.Reader) error {
	if os.Getpid() == 1 {
		if err := SignalNamespace(unix.SIGKILL); !errors.Is(err, ErrGone) {
			return err
		}
		return nil
	}
	if worker > 1 && SignalGroup(worker, unix.SIGKILL) != nil {
		_ = SignalChild(worker, unix.SIGKILL) // it has left its group; the walk says what failed
	}
	done := make(map[proc.ID]bool)
	var failed error
	for began := time.Now(); time.Since(began) < killPasses; {
		fresh, err := pass(done, r)
		if failed == nil {
			failed = err
		}
		if !fresh {
			break
		}
	}
	return failed
}

// pass kills the descendants that are not in done and adds them to it.
func pass(done map[proc.ID]bool, r *proc.Reader) (fresh bool, failed error) {
	all, err := r.All()
	if err != nil {
		return false, err
	}
	for _, p := range all.Descendants(os.Getpid()) {
		if done[p.ID] {
			continue
		}
		done[p.ID], fresh = true, true
		err := Signal(p.ID, unix.SIGKILL, r.Read)
		if err != nil && !errors.Is(err, ErrGone) && failed == nil {
			failed = fmt.Errorf("cannot kill %s[%d]: %w", p.Comm, p.PID, err)
		}
	}
	return fresh, failed
}
