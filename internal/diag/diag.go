// Package diag finds the ways to start a worker that lose jobs under other inits. It takes a snapshot, and
// returns the line of a warning.
//
// It owns these choices and the words of the lines. It must never read, signal or write anything.
package diag

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// KeepsSignals reports whether a program keeps a stop signal from the processes below it: a
// shell without a trap for TERM does, and a launcher may.
func KeepsSignals(p proc.Process) bool {
	kind := program.Of(&p)
	return kind == program.Launcher || kind == program.Shell && !p.Handles(unix.SIGTERM)
}

// helpers are programs that a script waits with, or pipes through, and the service beside tsx.
var helpers = []string{"sleep", "usleep", "tail", "cat", "tee", "inotifywait", "esbuild"}

// IsHelper reports whether a process is one of the helpers, by its name.
func IsHelper(p proc.Process) bool { return slices.Contains(helpers, p.Comm) }

func isOther(p proc.Process) bool { return program.Of(&p) == program.Other }

// AtWork returns the processes that do the work. That is the worker or, if it is a shell or a launcher, the
// first programs below it that are neither these nor helpers.
func AtWork(s *proc.Snapshot, worker int) []proc.Process {
	isHelper := func(p proc.Process) bool { return p.PID != worker && IsHelper(p) }
	return slices.DeleteFunc(program.Nearest(s, worker, isOther), isHelper)
}

// Unprotected returns the processes below another that a signal would end, and that are no shells, launchers
// or helpers. One of them is at work, too, if what has started it leaves it to drainit.
func Unprotected(s *proc.Snapshot, worker int, sig unix.Signal) (all []proc.Process) {
	for _, p := range s.Descendants(worker) {
		if lacks, _ := LacksHandler(*p, sig); lacks && !IsHelper(*p) && !p.Ignores(sig) {
			all = append(all, *p)
		}
	}
	return all
}

// Wrapped returns the worker and the processes at work below it, if the worker is a shell or a launcher that
// keeps signals from them. Otherwise atWork is empty.
func Wrapped(s *proc.Snapshot, worker int) (wrapper proc.Process, atWork []proc.Process) {
	wrapper, ok := s.Process(worker)
	if !ok || !wrapper.Alive() || !KeepsSignals(wrapper) {
		return wrapper, nil
	}
	return wrapper, AtWork(s, worker)
}

// OnlyWaits guesses that a process only waits for another that handles the signal, so that its own death
// loses nothing. The other process is below it, as below time(1). For a helper, such as a tail that keeps a
// container open, it may be below the parent of the helper.
func OnlyWaits(s *proc.Snapshot, p proc.Process, sig unix.Signal) bool {
	among := p.PID
	if IsHelper(p) {
		among = p.PPID
	}
	handles := func(q *proc.Process) bool { return q.PID != p.PID && q.Handles(sig) }
	return slices.ContainsFunc(s.Descendants(among), handles)
}

// LacksHandler reports whether a process that ended by a signal right after it was sent may have had no
// handler of its own for it. certain is set only if the process was read and showed no handler: a handler may
// be the runtime's.
func LacksHandler(p proc.Process, sig unix.Signal) (lacks, certain bool) {
	switch {
	case !isOther(p) || p.Blocked.Has(sig):
		return false, false
	case p.Start == 0:
		return true, false
	}
	return !program.DrainsOn(&p, sig), !p.Handles(sig)
}
