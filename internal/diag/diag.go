// Package diag has the warnings: of a start, a stop and a death that lose jobs, or would under another init.
// It takes what the supervisor has seen, and returns lines.
//
// It owns these choices and the words of the lines. It must never read, signal or write anything.
package diag

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/program"
)

// Line is a warning: which process does what wrong, and what to write instead. It is written once for each
// value of Of.
type Line struct {
	Message
	Of   any
	Args []any
}

func line(m Message, of any, args ...any) []Line { return []Line{{m, of, args}} }

// KeepsSignals reports whether a program keeps a stop signal from the processes below it: a
// shell without a trap for TERM does, and a launcher may.
func KeepsSignals(p proc.Process) bool {
	kind := program.Of(&p)
	return kind == program.Launcher || kind == program.Shell && !p.Handles(unix.SIGTERM)
}

// helpers are programs that a script waits with, or pipes through, and the service beside tsx.
var helpers = []string{"sleep", "usleep", "tail", "cat", "tee", "inotifywait", "esbuild"}

// IsHelper reports whether a process is one of the helpers, by its name.
func IsHelper(p *proc.Process) bool { return slices.Contains(helpers, p.Comm) }

func isOther(p proc.Process) bool { return program.Of(&p) == program.Other }

// nearest returns the processes that do the work. That is root or, if it is a shell or a launcher, the first
// programs below it that are neither these nor helpers.
func nearest(s *proc.Snapshot, root int) []proc.Process {
	isHelper := func(p proc.Process) bool { return p.PID != root && IsHelper(&p) }
	return slices.DeleteFunc(program.Nearest(s, root, isOther), isHelper)
}

// AtStart returns the line about a worker that is a shell or a launcher above processes at work, and keeps
// signals from them. Advice is given if it is clear which process could take its place. There is no line
// where each process is signalled.
func AtStart(s *proc.Snapshot, worker int, mode forward.Mode) []Line {
	w, _ := s.Process(worker)
	atWork, launcher, better := nearest(s, worker), program.LauncherName(&w), ""
	if len(atWork) == 1 {
		better = ". Where the script ends with this command, start it with exec"
	}
	switch {
	case !w.Alive(), !KeepsSignals(w), len(atWork) == 0, mode == forward.ModeGroup, mode == forward.ModeNone:
		return nil
	case mode == forward.ModeWorker:
		return line(wrappedAlone, nil, w, atWork, better)
	case launcher == "":
		return line(shellWorker, nil, w, atWork, better)
	case better != "":
		better = ". Where it runs this command alone, start that in its place"
	}
	return line(launcherWorker, nil, w, launcher, atWork, better)
}

// Above returns the line about drainit's parent if that is a shell, so that no stop signal can reach drainit:
// the platform signals PID 1, and from there down to drainit are only processes that keep signals, above.
func Above(above []proc.Process) []Line {
	if len(above) == 0 || program.Of(&above[0]) != program.Shell {
		return nil
	}
	return line(unreachable, nil, above[0])
}
