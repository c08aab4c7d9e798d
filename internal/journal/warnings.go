package journal

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// The warnings of a start that loses jobs under other inits: each says which process does
// what wrong, and what to write instead.

// Wrapped warns that the worker is a shell or a launcher, with the processes at work below it. replaceable says
// that one of them alone could take its place. Without it there is no advice: no advice is better than one that
// loses a job.
func (j *Journal) Wrapped(w proc.Process, atWork []proc.Process, mode forward.Mode, replaceable bool) {
	if !j.first("wrapped") {
		return
	}
	names, better := logx.List(atWork, proc.Process.String), ". Where the script ends with this command, start it with exec"
	launcher := program.LauncherName(&w)
	if launcher != "" && mode != forward.ModeWorker {
		better = ". Where it runs this command alone, start that in its place"
	}
	if !replaceable {
		better = ""
	}
	switch {
	case mode == forward.ModeWorker:
		j.Say(wrappedAlone, w, names, better)
	case launcher != "":
		j.Say(launcherWorker, w, launcher, names, better)
	case w.Ignores(unix.SIGTERM):
		j.Say(shellIgnores, w, names, better)
	default:
		j.Say(shellWorker, w, names, better)
	}
}

// NoHandler writes that a process died of the stop signal because it has no handler. came is the signal that came
// to drainit. Each program is named once.
func (j *Journal) NoHandler(l diag.Lacking, came unix.Signal) {
	isTsx := func(arg string) bool { return path.Base(arg) == "tsx" }
	hint := ""
	if slices.ContainsFunc(l.Sent.Args, isTsx) {
		hint = ". If it has one, tsx ended it for being busy: start node --import tsx"
	}
	switch {
	case j.said[SignalsEach.text] || !j.first("no handler: "+l.Comm): // it had another's
	case l.Certain:
		j.Say(lacksHandler, l.Process, l.Signal, short(came), drainsOn(l.Process, came))
	default:
		j.Say(mayLack, l.Process, l.Signal, short(came), drainsOn(l.Process, came), hint)
	}
}

// drainsOn is another stop signal for which a process has a handler of its own; "SIG" where none is known.
func drainsOn(p proc.Process, came unix.Signal) string {
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGQUIT} {
		if sig != came && program.DrainsOn(&p, sig) {
			return short(sig)
		}
	}
	return "SIG"
}

func short(sig unix.Signal) string { return strings.TrimPrefix(signals.Name(sig), "SIG") }

// TakenAsStop writes that a signal begins the stop, by another.
func (j *Journal) TakenAsStop(came, stop unix.Signal) {
	j.Say(takenAsStop, Came(came), stop, short(came), short(came), short(stop))
}

// NoEffect writes that each process that a signal was forwarded to ignores it.
func (j *Journal) NoEffect(came unix.Signal) {
	if j.first("no effect: " + short(came)) {
		j.Say(noEffect, Came(came), short(came), short(came))
	}
}

// Ignores writes that the worker, or a process at work, ignores the stop signal.
func (j *Journal) Ignores(now time.Time, p proc.Process, sig unix.Signal) {
	if j.first("ignores: " + p.Comm) {
		j.Say(ignoring, p, sig, j.timeLeft(now))
	}
}

// BlockedTrap writes that a shell can't run its trap because it first waits for a command, child. alone says
// that the command is in no pipe, so that $! is its pid.
func (j *Journal) BlockedTrap(shell, child proc.Process, alone bool) {
	does := fmt.Sprintf("so drainit signalled %v itself", child)
	switch {
	case !child.Handles(unix.SIGTERM):
		does = "which has no SIGTERM handler and works on"
	case alone:
		does += ". Better, in the script: trap 'kill $c; wait $c; exit $?' TERM; COMMAND & c=$!; wait $c"
	}
	j.Once(trapWaits, shell, child, does)
}

// ErrNoMasks says that /proc has no signal masks, as in gVisor.
var ErrNoMasks = errors.New("this kernel does not tell which signals a process handles")

// PM2 writes that PM2 will kill an application by its own limit. known says that the application surely has no
// other limit.
func (j *Journal) PM2(pm2, app proc.Process, known bool) {
	unless := ", unless it was given more, which drainit cannot read"
	if known {
		unless = ""
	}
	j.Once(pm2Limit, phrase{fmt.Sprintf("PM2[%d]", pm2.PID), fieldsOf(pm2)}, app, unless)
}
