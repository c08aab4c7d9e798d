package reaper

import (
	"cmp"
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

// KillTree sends SIGKILL to everything below drainit. As PID 1 that is one call of the kernel,
// which no fork escapes. Elsewhere it walks the descendants until a walk finds none new: they fork
// meanwhile. worker is the pid of one that has not been waited for, else 0: its group goes first,
// and is all that can be reached without /proc, or of what hangs in the kernel.
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
	var failed error
	done := make(map[proc.ID]bool)
	began := time.Now()
	for fresh := true; fresh && time.Since(began) < killPasses; {
		all, err := r.All()
		if err != nil {
			return cmp.Or(failed, err)
		}
		fresh = false
		for _, p := range all.Descendants(os.Getpid()) {
			if done[p.ID] {
				continue
			}
			done[p.ID], fresh = true, true
			if err := Signal(p.ID, unix.SIGKILL, r.Read); err != nil && !errors.Is(err, ErrGone) {
				failed = cmp.Or(failed, fmt.Errorf("cannot kill %s[%d]: %w", p.Comm, p.PID, err))
			}
		}
	}
	return failed
}
