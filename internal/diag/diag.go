// Package diag finds the starts that lose jobs under other inits: a snapshot in, the
// processes that a warning is about out.
//
// It owns these choices; the words are package journal's. It must never read, signal or
// write anything.
package diag

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

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

// AtWork returns the processes that do the work: the worker, or the first programs below it
// where it is a shell or a launcher.
func AtWork(s *proc.Snapshot, worker int) []proc.Process {
	programs := program.Nearest(s, worker, func(p proc.Process) bool { return program.Of(&p) == program.Other })
	return slices.DeleteFunc(programs, func(p proc.Process) bool { return p.PID != worker && slices.Contains(helpers, p.Comm) })
}

// OnlyBelow returns the process at work below another, zero where there are several or none.
func OnlyBelow(s *proc.Snapshot, p proc.Process) (only proc.Process) {
	works := func(q proc.Process) bool {
		return q.PID != p.PID && program.Of(&q) == program.Other && !slices.Contains(helpers, q.Comm)
	}
	if all := program.Nearest(s, p.PID, works); len(all) == 1 {
		only = all[0]
	}
	return only
}

// Wrapped returns the worker and the processes at work below it, where it is a shell or a
// launcher that keeps signals from them; none where it is not.
func Wrapped(s *proc.Snapshot, worker int) (wrapper proc.Process, atWork []proc.Process) {
	wrapper, ok := s.Process(worker)
	if !ok || !wrapper.Alive() || !KeepsSignals(wrapper) {
		return wrapper, nil
	}
	return wrapper, AtWork(s, worker)
}

// Replaceable reports whether exactly one process is at work below a shell or a launcher, and could be the worker
// itself: it handles each stop signal that it would be sent then, in place of the shell's TERM. The shell's script
// must not belong to a package.
func Replaceable(wrapper proc.Process, atWork []proc.Process, stops []unix.Signal) bool {
	unhandled := func(sig unix.Signal) bool { return !atWork[0].Handles(sig) }
	packaged := func(arg string) bool {
		return arg != wrapper.Args[0] && (strings.HasPrefix(arg, "/usr/") || strings.Contains(arg, "node_modules/"))
	}
	return len(atWork) == 1 && !slices.ContainsFunc(stops, unhandled) && !(program.Of(&wrapper) == program.Shell && slices.ContainsFunc(wrapper.Args, packaged))
}

// OnlyWaits reports whether a process only waits for one below it that handles the signal, as
// time(1) does, or beside it, as a tail does that keeps a container open: its own death loses nothing.
func OnlyWaits(s *proc.Snapshot, p proc.Process, sig unix.Signal) bool {
	among := p.PID
	if slices.Contains(helpers, p.Comm) {
		among = p.PPID
	}
	return slices.ContainsFunc(s.Descendants(among), func(q *proc.Process) bool { return q.PID != p.PID && q.Handles(sig) })
}

// LacksHandler reports whether a program that dies of a signal right after it was sent has no
// handler of its own for it. certain is false where nothing was read of the process, and of
// Go and Node: they show a handler whatever the program has.
func LacksHandler(p proc.Process, sig unix.Signal) (lacks, certain bool) {
	switch {
	case program.Of(&p) != program.Other || p.Blocked.Has(sig):
		return false, false
	case p.Start == 0:
		return true, false
	case !p.Handles(sig):
		return true, true
	}
	return isGo(p) || isNode(p), false
}

// isGo knows the Go runtime by its handlers: no other program has one for SIGSTKFLT.
func isGo(p proc.Process) bool { return p.Handles(unix.SIGSTKFLT) && p.Handles(unix.SIGURG) }

func isNode(p proc.Process) bool {
	return slices.Contains([]string{"node", "nodejs", "MainThread", "bun", "deno"}, cmp.Or(p.Exe, p.Comm))
}

// PM2 returns each PM2 that is a process or below it.
func PM2(s *proc.Snapshot, root int) []proc.Process { return program.Nearest(s, root, IsPM2) }

// GivenTime reports whether PM2 gives an application another time than its own 1.6 s: by kill_timeout, which
// PM2 hands on in its environment, in JSON to those of a cluster, or by a variable of PM2's own.
func GivenTime(app, pm2 []byte) bool {
	has := func(environ []byte, name string) bool {
		return bytes.Contains(append([]byte{0}, environ...), []byte(name))
	}
	return has(app, "\x00kill_timeout=") || has(app, `"kill_timeout":`) || has(pm2, "\x00PM2_KILL_TIMEOUT=")
}

// Strangers returns the children of drainit that did not come from the worker, with what is below them: what
// docker exec has left. They have another session, and their environment lacks the variable that drainit gives the
// worker. Of one that has written its title over that, PATH is missing, too: it is not known.
func Strangers(s *proc.Snapshot, self, worker int, environ func(pid int) ([]byte, error)) (all []*proc.Process) {
	const whole = 128 << 10 // of a longer one the end may be missing, which has it
	w, _ := s.Process(worker)
	for _, p := range s.Children(self) {
		if p.PID == worker || p.SID == w.SID {
			continue
		}
		given, _ := environ(p.PID)
		if len(given) < whole && bytes.Contains(given, []byte("PATH=")) && !bytes.Contains(given, []byte("UNDER_DRAINIT=")) {
			all = append(append(all, p), s.Descendants(p.PID)...)
		}
	}
	return all
}

// IsPM2 knows PM2 by the title that its daemon gives itself, and else by its script.
func IsPM2(p proc.Process) bool {
	script := slices.IndexFunc(p.Args, func(arg string) bool { return arg != p.Args[0] && !strings.HasPrefix(arg, "-") })
	return strings.HasPrefix(p.Comm, "PM2 v") || isNode(p) && script > 0 && strings.HasPrefix(filepath.Base(p.Args[script]), "pm2")
}
