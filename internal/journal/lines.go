package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
)

// The lines of a worker's life, in the order in which they come.

// NotStarted writes why there is no worker, with the exit status.
func (j *Journal) NotStarted(why string, status int) {
	j.Say(notStarted, why, worker.ReasonNotStarted, Status(status))
}

// StoppedEarly writes that a stop signal came before the worker was started.
func (j *Journal) StoppedEarly(sig unix.Signal, status int) {
	j.Say(endEarly, Came(sig), worker.ReasonStop, Status(status))
}

// DelayOver writes the end of a stop delay, and which processes were sent the stop signal then. came is the
// signal that came to drainit, and made has the deliveries.
func (j *Journal) DelayOver(now time.Time, came unix.Signal, made []forward.Delivery) {
	j.Say(delayOver, sentTo(made, ": "), j.TimeLeft(now), Came(came))
}

// Leaving writes that the worker has exited, and that the processes that it left are killed, as --forward
// worker says. It writes nothing if there are none.
func (j *Journal) Leaving(living Living) {
	if living.Err != nil || len(living.All) > 0 {
		j.exited = true
		status := Status(j.worker.Exit.ExitStatus())
		j.Say(killLeaving, j.worker, j.worker.Exit, living, machine.ReasonWorkerOnly, status)
	}
}

// Progress writes which processes a drain still waits for. A child of drainit that has not been signalled yet
// gets one more line, once, with the reason.
func (j *Journal) Progress(now time.Time, living Living) {
	remaining := Phrase{of: []any{living}}
	if len(living.All) > 0 { // else it is hidden from us
		remaining.words = fmt.Sprintf("%s left (%s), ", logx.Processes(len(living.All)), names(living.All))
	}
	j.Say(draining, remaining, j.TimeLeft(now))
	for _, p := range living.All {
		if why := j.history.Explain(p.PID); why != "" {
			j.Say(notSignalledYet, *p, why)
		}
	}
}

// Quiet writes the line of a TSTP. The line names the processes that were sent it, or says that none handles
// it, that all were sent it before, or by err that this is not known.
func (j *Journal) Quiet(sig unix.Signal, none bool, sent []forward.Delivery, err error) {
	switch {
	case err != nil:
		j.Say(quietUnknown, sig, err)
	case none:
		j.Say(quietNowhere, j.worker, sig)
	case len(sent) == 0:
		j.Say(quietAlready, sig)
	default:
		j.Say(quieted, sig, recipients(sent))
	}
}

// Running writes the end of quiet. The line names the processes that were sent sig for that, if any.
func (j *Journal) Running(sig unix.Signal, sent []forward.Delivery) {
	to := Phrase{}
	if len(sent) > 0 {
		to = Phrase{fmt.Sprintf(": %s to %s", signals.Name(sig), recipients(sent)), []any{sig}}
	}
	j.Say(running, to)
}

func recipients(sent []forward.Delivery) string {
	return logx.List(sent, func(d forward.Delivery) string { return d.Process.String() })
}

// Draining writes the line of the first stop signal: which processes were sent it (made), and what comes
// next. unsent names the setting or platform that has drainit send it to no process; it is "" for none.
func (j *Journal) Draining(
	now time.Time, sig unix.Signal, made []forward.Delivery, interactive bool, unsent string,
) {
	then := j.TimeLeft(now)
	if end, ok := j.machine.GraceEnd(); ok {
		then.words = fmt.Sprintf("what still runs after %s is killed", tenths(max(0, end.Sub(now))))
	}
	if interactive && sig == unix.SIGINT {
		then.words += ", Ctrl-C again kills at once"
	}
	if unsent != "" {
		j.Say(stoppingUnsent, Came(sig), unsent, then)
	} else if len(made) > 0 && made[0].Signal == sig {
		j.Say(stopping, sentTo(made, ""), then, Came(sig))
	} else { // it is rewritten, a shell is sent TERM, or none was sent
		j.Say(stoppingOn, Came(sig), sentTo(made, ": "), then)
	}
}

// sentTo returns words about which processes were sent the stop signal, with before in front of them. It
// returns none if no process was sent it: a failure has a line of its own.
func sentTo(made []forward.Delivery, before string) Phrase {
	if len(made) == 0 {
		return Phrase{}
	}
	words, all := fmt.Sprintf("%s%s sent to %v", before, signals.Name(made[0].Signal), made[0].Process), 0
	for _, d := range made {
		all += len(d.Reached())
	}
	if all > 1 {
		words += fmt.Sprintf(" and %d more", all-1)
	}
	return Phrase{words, []any{made[0].Signal}}
}

// Exited writes that the worker exited by itself and left processes. It writes nothing if none of these
// lives: a process that died with the worker may not be reaped yet. sig is the signal that those left are
// sent now, 0 if they are sent none.
func (j *Journal) Exited(now time.Time, living Living, sig unix.Signal) {
	if living.Err == nil && len(living.All) == 0 {
		return
	}
	j.exited = true
	then, hint := j.TimeLeft(now), ""
	if living.Err == nil && j.machine.Phase() == machine.Draining && sig != 0 {
		then.words = signals.Name(sig) + " now, " + then.words
	}
	if j.worker.Exit.ExitStatus() == 0 { // a daemon, or a script that ends with app &
		hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	}
	j.Say(leftBehind, j.worker, j.worker.Exit, living, then, hint, WorkersEnd)
}

// Daemonized writes that the worker exited and runs on in the processes that it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	j.exited = true
	j.Say(daemonized, j.worker, j.worker.Exit, Living{All: left}, WorkersEnd)
}

// DiedOf writes that a signal has ended the worker, since the status alone would look like a stop. If the
// signal was forwarded, came is that signal before the rewrite. Nothing is written if it was the stop signal.
func (j *Journal) DiedOf(e worker.Exit, came unix.Signal) {
	why, unhandled := "it came from the worker itself (a fault, a limit), or from outside", ""
	if e.By == unix.SIGKILL {
		why = "out of memory, its limit of CPU time, or a kill from outside"
	}
	if p := e.Process; p.Start != 0 && !p.Handles(e.By) { // /proc showed its handlers
		unhandled = ": it has no handler for it"
	}
	if !e.IsSent() {
		j.Say(diedOf, j.worker, e.By, why, WorkersEnd)
	} else if !e.Stop {
		j.Say(diedForwarded, j.worker, e.By, unhandled, asTheStop(came), signals.Short(came), WorkersEnd)
	}
}

// TakenAsStop writes that the signal that came begins the stop, and that processes are sent stop in its
// place.
func (j *Journal) TakenAsStop(came, stop unix.Signal) {
	dump := ""
	if came == unix.SIGQUIT {
		dump = ", after a dump,"
	}
	name := signals.Short(came)
	j.Say(takenAsStop, Came(came), stop, dump, asTheStop(came), name, name, signals.Short(stop), name)
}

// asTheStop returns the setting that has a platform send TERM, if it means the stop by the signal that came.
// LXC sends PWR.
func asTheStop(came unix.Signal) string {
	if came == unix.SIGPWR {
		return "lxc.signal.halt = SIGTERM"
	}
	return "STOPSIGNAL SIGTERM in the image"
}

// NoEffect writes that each process that a signal was forwarded to ignores it, once for each signal.
func (j *Journal) NoEffect(came unix.Signal) {
	name := signals.Short(came)
	j.OnceOf(came, noEffect, Came(came), asTheStop(came), name, name)
}

// ErrNoMasks says that /proc has no signal masks, as in gVisor.
var ErrNoMasks = errors.New("this kernel does not tell which signals a process handles")

// The lines about signals: which came, which were sent, and which were not.

// Sent writes a line for each process of a delivery that was made, with its rule. A delivery without a rule
// gets no line.
func (j *Journal) Sent(d forward.Delivery) {
	for _, p := range d.Reached() {
		if d.Rule != "" {
			j.Say(delivered, d.Signal, p, d.Rule)
		}
	}
}

// Ended notes that a child has ended.
func (j *Journal) Ended(e worker.Exit) { j.Note(e.String(), proc.ID{PID: e.PID}) }

// Unsignalled writes which processes were not signalled, why, and when they are at the latest.
func (j *Journal) Unsignalled(w forward.Unsignalled) {
	later := "drainit does not signal it, as the grace period is infinite"
	if end, limited := j.machine.GraceEnd(); limited {
		call, final := j.machine.CallTimes()
		if w.Call == forward.FinalCall {
			call = final
		}
		later = "it is signalled " + tenths(end.Sub(call)) + " before SIGKILL at the latest"
	}
	m, why := notSignalled, w.Rule
	if w.Undecided {
		m, why = undecided, w.Rule+"; "+later
	}
	for _, p := range w.Processes {
		j.Note(why, p.ID)
	}
	j.Say(m, Phrase{names(w.Processes), []any{*w.Processes[0]}}, w.Rule, later)
}

// Late writes one line about the processes that were signalled only in the last or the final call. There may
// be thousands. made has the deliveries of the call.
func (j *Journal) Late(now time.Time, made []forward.Delivery) {
	made = slices.DeleteFunc(slices.Clone(made), func(d forward.Delivery) bool { return !d.Late })
	if len(made) > 0 {
		late := Phrase{recipients(made), []any{made[0].Process}}
		j.Say(signalledLate, made[0].Signal, late, j.TimeLeft(now))
	}
}

// Refused writes why a process can't be signalled, once for each process. It writes nothing of one that has
// gone.
func (j *Journal) Refused(d forward.Delivery, err error) {
	hint := ""
	switch {
	case errors.Is(err, reaper.ErrGone):
		return
	case errors.Is(err, unix.EPERM):
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	for _, p := range d.Reached() {
		j.Note(fmt.Sprintf("cannot send %s: %v", signals.Name(d.Signal), err), p.ID)
	}
	j.OnceOf(d.Process.ID, refused, d.Signal, d.Process, err, hint)
}
