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
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// The warnings of a start that loses jobs under other inits: each says which process does
// what wrong, and what to write instead.

// Wrapped is a worker that is a shell or a launcher; the processes at work are below it. replaceable is
// whether one alone could take its place. No advice is better than one that loses a job.
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

// NoHandler is a process that died of the stop signal for want of a handler: certainly, or
// maybe. sent is that process, or the one above it that passed the signal on; came is the signal that
// came to drainit. Each program is named once.
func (j *Journal) NoHandler(p, sent proc.Process, sig, came unix.Signal, certain bool) {
	isTsx := func(arg string) bool { return path.Base(arg) == "tsx" }
	hint := map[bool]string{true: ". If it has one, tsx ended it for being busy: start node --import tsx"}[slices.ContainsFunc(sent.Args, isTsx)]
	switch {
	case !j.first("no handler: " + p.Comm):
	case certain:
		j.Say(lacksHandler, p, sig, short(came), drainsOn(p, came, unix.SIGTERM, unix.SIGQUIT))
	default:
		j.Say(mayLack, p, sig, short(came), drainsOn(p, came, unix.SIGTERM, unix.SIGINT), hint)
	}
}

// drainsOn is another of these signals for which a process has a handler; "SIG" where none is known. One that
// is no runtime's is worth advice: INT is mostly Python's KeyboardInterrupt, which ends it, QUIT is Go's.
func drainsOn(p proc.Process, came unix.Signal, these ...unix.Signal) string {
	for _, sig := range these {
		if sig != came && p.Handles(sig) {
			return short(sig)
		}
	}
	return "SIG"
}

func short(sig unix.Signal) string { return strings.TrimPrefix(signals.Name(sig), "SIG") }

// Ignores is a process at work that ignores the stop signal, or a worker that does.
func (j *Journal) Ignores(now time.Time, p proc.Process, sig unix.Signal) {
	if j.first("ignores: " + p.Comm) {
		j.Say(ignoring, p, sig, j.timeLeft(now))
	}
}

// BlockedTrap is a shell whose trap can't run: it waits for a command first, child. alone is whether
// that is a command without a pipe, whose pid $! is.
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

// ErrUntold says that /proc has no signal masks, as in gVisor.
var ErrUntold = errors.New("this kernel does not tell which signals a process handles")

// PM2 is an application of PM2, which has a limit of its own. known is whether it has not been given another.
func (j *Journal) PM2(pm2, app proc.Process, known bool) {
	unless := map[bool]string{false: ", unless it was given more, which drainit cannot read"}[known]
	j.Once(pm2Limit, phrase{fmt.Sprintf("PM2[%d]", pm2.PID), fieldsOf(pm2)}, app, unless)
}
