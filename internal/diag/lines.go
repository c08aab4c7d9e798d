package diag

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Message is the event of a warning, whether it says that work was lost, and the format of its words.
type Message struct {
	Event string
	Loss
	Text string
}

// Loss says that work was lost, or may be. It is "" where it was not.
type Loss string

// The losses. With MayLose, none was if a check has found the work done.
const (
	Loses   Loss = "yes"
	MayLose Loss = "maybe"
)

// Line is a warning: which process does what wrong, and what to write instead. It is written once for each
// value of Of.
type Line struct {
	Message
	Of   any
	Args []any
}

// WrappedLine returns the line about a wrapper and the processes at work below it (Wrapped). alone says that
// only the wrapper is signalled. Advice is given if it is clear which process could take its place.
func WrappedLine(w proc.Process, atWork []proc.Process, alone bool) Line {
	better, launcher := "", program.LauncherName(&w)
	switch one := len(atWork) == 1; {
	case one && launcher != "" && !alone:
		better = ". Where it runs this command alone, start that in its place"
	case one:
		better = ". Where the script ends with this command, start it with exec"
	}
	switch {
	case alone:
		return Line{wrappedAlone, nil, []any{w, atWork, better}}
	case launcher != "":
		return Line{launcherWorker, nil, []any{w, launcher, atWork, better}}
	}
	return Line{shellWorker, nil, []any{w, atWork, better}}
}

// NoHandler returns the line about a process that ended by the stop signal by, which is written once for each
// program. certain says that it surely had no handler (LacksHandler), and how is how it ended. came is the
// signal that came to drainit. The advice names TERM, or a signal that the program surely drains on, but no
// rewrite that is set.
func NoHandler(p proc.Process, certain bool, how string, by, came unix.Signal) Line {
	from, to := signals.Short(came), "SIG" // for one that is not known
	for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGINT, unix.SIGTERM} {
		drains := program.DrainsOn(&p, sig) || sig == unix.SIGTERM && p.Handles(sig)
		if sig != came && sig != by && drains {
			to = signals.Short(sig)
		}
	}
	if certain {
		return Line{lacksHandler, p.Comm, []any{p, by, from, to}}
	}
	return Line{mayLack, p.Comm, []any{p, how, from, to, by}}
}
