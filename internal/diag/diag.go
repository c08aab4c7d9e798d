// Package diag finds the misconfigurations that lose jobs: a snapshot in, warnings out.
//
// It owns the text of the warnings. It must never read, signal or write anything itself,
// and nothing is composed before the signal that it is about has gone out. What a line
// says to write is true when it is pasted, or it is general.
package diag

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
)

// Warning is one line for the log, about one process. The zero Warning is none.
type Warning struct {
	Process proc.Process
	Text    string
}

// Facts are what warnings of a worker go by.
type Facts struct {
	Snapshot *proc.Snapshot // from before the signal went out
	Worker   int            // its pid
	Self     int            // drainit's
	Mode     forward.Mode
	Start    *Start
	// Inner is the innermost process behind the worker with its program and place, read
	// after the signal went out: zero where it had gone by then.
	Inner proc.Process
}

// Start is how this drainit was started.
type Start struct {
	Args    []string // all of its command line
	Command []string // the worker's, at the end of it
	Path    string   // of drainit's own file
	Env     []string // the worker's
	Dir     string
	User    string // as proc.Surroundings has it
}

// self are the words that start this drainit as it was, without its command; nil where
// they can't be pasted.
func (s *Start) self() []string {
	words := []string{s.Path}
	if n := len(s.Args) - len(s.Command); n > 1 {
		words = append(words, s.Args[1:n]...)
	}
	if words[len(words)-1] != "--" {
		words = append(words, "--")
	}
	for _, word := range words {
		if !isPlain(word) {
			return nil
		}
	}
	return words
}

// entrypoint is the exec form of what drainit runs now; "" where it is not the same as what
// ran these words, or may not stand in a log.
func (s *Start) entrypoint(words []string, ran proc.Process) string {
	self, its := s.self(), ran.Surroundings()
	if self == nil || !isSafe(words) || s.Dir == "" || s.User == "" || its.Dir != s.Dir || its.User != s.User || s.sets("BASH_ENV") {
		return ""
	}
	return entrypoint(self, words)
}

// sets reports whether a variable is in the worker's environment.
func (s *Start) sets(variable string) bool { return sets(s.Env, variable) }

func sets(env []string, variable string) bool {
	for _, v := range env {
		if strings.HasPrefix(v, variable+"=") {
			return true
		}
	}
	return false
}

// KeepsSignals reports whether a program keeps a stop signal from those below it, as far
// as can be known.
func KeepsSignals(p proc.Process) bool {
	switch forward.ProgramOf(&p) {
	case forward.Shell:
		return !p.Handles(unix.SIGTERM)
	case forward.Launcher:
		return forward.LauncherForwards(p) != forward.ForwardsAll
	}
	return false
}

// Behind is the process that does the work where the worker is a shell or a launcher: the
// innermost. ok is false where there is none; several says that the way parts.
func (f *Facts) Behind() (inner proc.Process, several, ok bool) {
	w, ok := f.Snapshot.Process(f.Worker)
	if !ok || !w.Alive() || !KeepsSignals(w) {
		return inner, false, false
	}
	inner, several = innermost(f.Snapshot, w)
	return inner, several, inner.PID != w.PID || several
}

// innermost goes down from a shell or a launcher to the one process that does the work.
// several says that the way parts.
func innermost(s *proc.Snapshot, p proc.Process) (inner proc.Process, several bool) {
	for forward.ProgramOf(&p) != forward.Other {
		below := s.Children(p.PID)
		switch len(below) {
		case 0:
			return p, false
		case 1:
			p = *below[0]
		default:
			return p, true
		}
	}
	return p, false
}

// Wrapped is for a worker behind a shell or a launcher.
func (f *Facts) Wrapped() Warning {
	inner, several, ok := f.Behind()
	if !ok {
		return Warning{}
	}
	w, _ := f.Snapshot.Process(f.Worker)
	behind := inner.String()
	if several {
		behind = "those behind it"
	}
	what, also := f.inPlaceOf(w, behind)
	return Warning{w, fmt.Sprintf("%s. Better: %s%s", what, also, f.better(w, inner, several))}
}

// inPlaceOf is what drainit does about a worker that forwards nothing, and what is to be
// done about it beside the form of its command.
func (f *Facts) inPlaceOf(w proc.Process, behind string) (what, also string) {
	name := nameOf(w)
	switch {
	case forward.LauncherForwards(w) == forward.ForwardsMaybe:
		return fmt.Sprintf("%s stands between drainit and %s", name, behind), ""
	case f.Mode == forward.ModeWorker:
		return fmt.Sprintf("%s does not forward signals, and with --forward worker drainit sends none to %s", name, behind), "leave --forward worker out, and "
	case w.Ignores(unix.SIGTERM):
		return fmt.Sprintf("%s ignores SIGTERM, so drainit sends the stop signal to %s itself, if that handles it", name, behind), "do not ignore SIGTERM, and "
	}
	return fmt.Sprintf("%s does not forward signals, so drainit sends the stop signal to %s itself", name, behind), ""
}

// nameOf says which launcher it is where its comm does not.
func nameOf(w proc.Process) string {
	if name := forward.LauncherName(&w); name != "" && !strings.HasPrefix(w.Comm, name) {
		return w.String() + " (" + name + ")"
	}
	return w.String()
}

// better is how to start a command so that nothing stands before it. It never names the
// words of the process behind: those before them may have been gosu, env or cd.
func (f *Facts) better(w, inner proc.Process, several bool) string {
	launcher, shell := forward.LauncherName(&w), howStarted(w)
	switch {
	case launcher == "go run":
		return "build it with go build -o /app, and start /app"
	case launcher != "" && !several && forward.ProgramOf(&inner) == forward.Other:
		return "start " + inner.Comm + " itself, without " + launcher
	case launcher != "":
		return "start the program itself, without " + launcher
	case several:
		return "start with exec the one program that does the work"
	case shell.script != "":
		return "in " + shell.script + " put exec before the command as it stands there"
	case !shell.isCommand:
		return "start the command with exec"
	}
	if form := f.execForm(w, inner); form != "" {
		return form
	}
	return "put exec before the last command of the string after -c"
}

// execForm is what starts the process behind a shell without it: where the shell's string
// is nothing but this one command, which runs as the same user in the same folder. A
// builtin, a function or a reserved word never shows the words of the string.
func (f *Facts) execForm(shell, inner proc.Process) string {
	words, now := simpleCommand(shell), f.Inner
	if now.ID != inner.ID || inner.PPID != shell.PID || now.Exe == "" || isMulticall(now.Exe) || !sameWords(now.Args, words) {
		return ""
	}
	return f.Start.entrypoint(words, now)
}

// isMulticall reports whether a program is many: a shell of the same file runs them without
// looking for them.
func isMulticall(exe string) bool {
	return strings.HasPrefix(exe, "busybox") || strings.HasPrefix(exe, "toybox")
}

func sameWords(args, words []string) bool {
	return len(words) > 0 && strings.Join(args, "\x00") == strings.Join(words, "\x00")
}

// BlockedTrap is for a shell whose trap can't run: it waits for a command first, child.
func BlockedTrap(shell, child proc.Process) Warning {
	does := fmt.Sprintf("so drainit signalled %v itself", child)
	if !child.Handles(unix.SIGTERM) {
		does = "which has no SIGTERM handler and works on"
	}
	return Warning{shell, fmt.Sprintf("%v can't run its trap until %v exits, %s. Better, in the script: COMMAND & c=$!; trap 'kill $c' TERM; wait $c; wait $c",
		shell, child, does)}
}
