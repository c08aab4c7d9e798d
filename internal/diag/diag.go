// Package diag finds the misconfigurations that lose jobs: a snapshot in, warnings out.
//
// It owns the text of the warnings. It must never read, signal or write anything itself,
// and nothing is composed before the signal that it is about has gone out.
package diag

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Warning is one line for the log, about one process. The zero Warning is none.
type Warning struct {
	Process proc.Process
	Text    string
}

// Facts are what warnings of a worker go by.
type Facts struct {
	Snapshot *proc.Snapshot // from before the signal went out, with the programs
	Worker   int            // its pid
	Mode     forward.Mode
	Self     string // the path of this drainit, to be pasted
}

// Parent is for a drainit that no stop signal can reach: the platform sends it to PID 1,
// a shell that has drainit, which runs this command, as its child.
func (f Facts) Parent(parent proc.Process, command []string) Warning {
	if forward.ProgramOf(parent) != forward.Shell || parent.Handles(unix.SIGTERM) {
		return Warning{}
	}
	return Warning{parent, fmt.Sprintf("drainit's parent %v is a shell, which passes no signal on, so no stop signal will reach drainit: not the shell form but %s; in a script exec %s",
		parent, entrypoint(f.Self, safeLine(command)), f.Self)}
}

// KeepsSignals reports whether a program keeps a stop signal from those below it.
func KeepsSignals(p proc.Process) bool {
	switch forward.ProgramOf(p) {
	case forward.Shell:
		return !p.Handles(unix.SIGTERM)
	case forward.Launcher:
		return !forward.ForwardsSignals(forward.LauncherName(p))
	}
	return false
}

// Wrapped is for a worker behind a shell or a launcher.
func (f Facts) Wrapped() Warning {
	w, ok := f.Snapshot.Process(f.Worker)
	if !ok || !w.Alive() || !KeepsSignals(w) {
		return Warning{}
	}
	inner, several := innermost(f.Snapshot, w)
	if inner.PID == w.PID && !several {
		return Warning{} // there is none behind it
	}
	behind, command := inner.String(), safeWords(inner)
	if several {
		behind, command = "those below it", []string{"COMMAND", "ARG"}
	}
	return Warning{w, fmt.Sprintf("%v is a %s that does not pass signals on to %s; %s: %s",
		w, kindName(w), behind, f.inPlaceOf(w), f.execForm(w, command))}
}

// NoHandler is for a worker that dies of the stop signal at once: came is what came to
// drainit, deliver what the worker gets for it.
func (f Facts) NoHandler(came, deliver unix.Signal) Warning {
	w, ok := f.Snapshot.Process(f.Worker)
	if !ok || !w.Alive() || len(f.Snapshot.Children(w.PID)) > 0 ||
		w.Handles(deliver) || w.Ignores(deliver) || !signals.TerminatesByDefault(deliver) {
		return Warning{}
	}
	name, other := signals.Name(deliver), "INT"
	if deliver == unix.SIGINT {
		other = "TERM"
	}
	return Warning{w, fmt.Sprintf("%v does not catch %s, so it dies of it at once and nothing is drained: handle %s in it, or choose a signal that it handles with --rewrite %s:%s, say",
		w, name, name, strings.TrimPrefix(signals.Name(came), "SIG"), other)}
}

// BlockedTrap is for a shell whose trap can't run: it waits for a command first. child is
// what it waits for, with its program.
func BlockedTrap(shell, child proc.Process) Warning {
	does := "so drainit signals it itself"
	if !child.Handles(unix.SIGTERM) {
		does = "which has no handler and works on"
	}
	return Warning{shell, fmt.Sprintf("%v can't run its trap until %v has ended, %s; in the script: %s & c=$!; trap 'kill $c' TERM; wait $c; wait $c",
		shell, child, does, strings.Join(safeWords(child), " "))}
}

func kindName(p proc.Process) string {
	if name := forward.LauncherName(p); name != "" {
		return "launcher (" + name + ")"
	}
	return forward.ProgramOf(p).String()
}

// inPlaceOf is what drainit does about a worker that passes nothing on.
func (f Facts) inPlaceOf(w proc.Process) string {
	switch {
	case f.Mode == forward.ModeWorker:
		return "with --forward worker nobody else will tell it, so leave that out, or use the exec form"
	case w.Ignores(unix.SIGTERM):
		return "it ignores SIGTERM, so drainit will tell what has a handler below it; do not ignore it, or use the exec form"
	}
	return "drainit will tell it, but exec form is better"
}

// execForm is how to start a command so that nothing stands before it.
func (f Facts) execForm(wrapper proc.Process, command []string) string {
	if forward.LauncherName(wrapper) == "go run" {
		return "go build -o /app, then " + entrypoint(f.Self, []string{"/app"})
	}
	if script := scriptOf(wrapper); script != "" {
		return fmt.Sprintf("let %s end with exec %s", script, strings.Join(command, " "))
	}
	return entrypoint(f.Self, command)
}

// innermost goes down from a shell or a launcher to the one process that does the work.
// several says that the way parts.
func innermost(s *proc.Snapshot, p proc.Process) (inner proc.Process, several bool) {
	for forward.ProgramOf(p) != forward.Other {
		below := s.Children(p.PID)
		switch len(below) {
		case 0:
			return p, false
		case 1:
			p = below[0]
		default:
			return p, true
		}
	}
	return p, false
}
