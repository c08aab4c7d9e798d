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

// SignalNamespace sends a signal to every process of the PID namespace except drainit, including those
// that an exec into the container started. It refuses if drainit is not PID 1: the signal would reach the
// whole machine.
func SignalNamespace(sig unix.Signal) error {
	if os.Getpid() != 1 {
		return errors.New("cannot signal the PID namespace: not its PID 1")
	}
	return wrapKill(unix.Kill(-1, sig))
}

// killTime bounds one KillTree. What forks too fast for it is left to the next call.
const killTime = 500 * time.Millisecond

// KillTree sends SIGKILL to every process below drainit. As PID 1 it does so by one system call, which no
// fork escapes. Otherwise it kills the worker's process group first: without /proc, or if a process hangs in
// the kernel, it can reach only that. Then it walks the descendants until it finds no new one, because they
// may fork meanwhile. worker is the worker's pid, or 0 after it has been waited for. The error is that of the
// read, or names the first process that could not be killed.
func KillTree(worker int, r *proc.Reader) error {
	if os.Getpid() == 1 {
		if err := SignalNamespace(unix.SIGKILL); !errors.Is(err, ErrGone) {
			return err
		}
		return nil
	}
	if worker > 1 && SignalGroup(worker, unix.SIGKILL) != nil {
		_ = SignalChild(worker, unix.SIGKILL) // it has left its group
	}
	var failed error
	done := make(map[proc.ID]bool)
	began := time.Now()
	for fresh := true; fresh && time.Since(began) < killTime; {
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
				failed = cmp.Or(failed, fmt.Errorf("cannot kill %v: %w", p, err))
			}
		}
	}
	return failed
}
