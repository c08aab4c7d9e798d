package journal

import (
	"errors"
	"fmt"
	"slices"

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
	j.Say(notStarted, why, worker.ReasonNotStarted, status)
}

// DelayOver writes the end of a stop delay, and which processes were sent the stop signal then. came is the
// signal that came to drainit, and made has the deliveries.
func (j *Journal) DelayOver(came unix.Signal, made []forward.Delivery) {
	sent, sig := sentTo(made, ": ")
	j.Say(delayOver, sent, sig, came)
}

// Leaving writes that the worker has exited, and that the processes that it left are killed, as --forward
// worker says. It writes nothing if there are none.
func (j *Journal) Leaving(living Living) {
	if living.Err != nil || len(living.All) > 0 {
		j.exited = true
		j.Say(killLeaving, living, machine.ReasonWorkerOnly)
	}
}

// Progress writes which processes a drain still waits for. A child of drainit that has not been signalled yet
// gets one more line, once, with the reason.
func (j *Journal) Progress(living Living) {
	remaining := ""
	if len(living.All) > 0 { // else it is hidden from us
		remaining = fmt.Sprintf("%s left (%s), ", logx.Processes(len(living.All)), names(living.All))
	}
	j.Say(draining, remaining, living)
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
		j.Say(quietNowhere, sig)
	case len(sent) == 0:
		j.Say(quietAlready, sig)
	default:
		j.Say(quieted, sig, recipients(sent))
	}
}

// Running writes the end of quiet. The line names the processes that were sent sig for that, if any.
func (j *Journal) Running(sig unix.Signal, sent []forward.Delivery) {
	to := ""
	if len(sent) > 0 {
		to = fmt.Sprintf(": %s to %s", signals.Name(sig), recipients(sent))
	} else {
		sig = 0
	}
	j.Say(running, to, sig)
}

func recipients(sent []forward.Delivery) string {
	return logx.List(sent, func(d forward.Delivery) string { return d.Process.String() })
}

// Draining writes the line of the first stop signal: which processes were sent it (made), and what comes
// next. unsent names the setting or platform that has drainit send it to no process; it is "" for none.
func (j *Journal) Draining(came unix.Signal, made []forward.Delivery, interactive bool, unsent string) {
	then := j.untilKill()
	if left, limited := j.timeLeft(); limited {
		then = fmt.Sprintf("what still runs after %s is killed", tenths(left))
	}
	if interactive && came == unix.SIGINT {
		then += ", Ctrl-C again kills at once"
	}
	if unsent != "" {
		j.Say(stoppingUnsent, came, unsent, then)
	} else if sent, sig := sentTo(made, ""); sig == came {
		j.Say(stopping, sent, then, sig, came)
	} else { // it is rewritten, a shell is sent TERM, or none was sent
		sent, _ = sentTo(made, ": ")
		j.Say(stoppingOn, came, sent, then, sig)
	}
}

// sentTo returns words about which processes were sent the stop signal, with before in front of them, and
// that signal. It returns none if no process was sent it: a failure has a line of its own.
func sentTo(made []forward.Delivery, before string) (words string, sig unix.Signal) {
	if len(made) == 0 {
		return "", 0
	}
	all := 0
	for _, d := range made {
		all += len(d.Reached())
	}
	words = fmt.Sprintf("%s%s sent to %v", before, signals.Name(made[0].Signal), made[0].Process)
	if all > 1 {
		words += fmt.Sprintf(" and %d more", all-1)
	}
	return words, made[0].Signal
}

// Exited writes that the worker exited by itself and left processes. It writes nothing if none of these
// lives: a process that died with the worker may not be reaped yet. sig is the signal that those left are
// sent now, 0 if they are sent none.
func (j *Journal) Exited(living Living, sig unix.Signal) {
	if living.Err == nil && len(living.All) == 0 {
		return
	}
	j.exited = true
	now, hint := "", ""
	if living.Err == nil && j.machine.Phase() == machine.Draining && sig != 0 {
		now = signals.Name(sig) + " now, "
	}
	if j.worker.Exit.ExitStatus() == 0 { // a daemon, or a script that ends with app &
		hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	}
	j.Say(leftBehind, living, now, hint)
}

// Daemonized writes that the worker exited and runs on in the processes that it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	j.exited = true
	j.Say(daemonized, Living{All: left})
}

// DiedOf writes that a signal has ended the worker, since the status alone would look like a stop. If the
// signal was forwarded, came is that signal before the rewrite. Nothing is written if it was the stop signal.
func (j *Journal) DiedOf(came unix.Signal) {
	e, why := j.worker.Exit, "it came from the worker itself (a fault, a limit), or from outside"
	switch p := e.Process; {
	case e.IsSent() && p.Start != 0 && !p.Handles(e.By): // /proc showed its handlers
		why = ": it has no handler for it"
	case e.IsSent():
		why = ""
	case e.By == unix.SIGKILL:
		why = "out of memory, its limit of CPU time, or a kill from outside"
	}
	if !e.IsSent() {
		j.Say(diedOf, e.By, why)
	} else if !e.Stop {
		j.Say(diedForwarded, e.By, why, asTheStop(came), signals.Short(came))
	}
}

// TakenAsStop writes that the signal that came begins the stop, and that processes are sent stop in its
// place.
func (j *Journal) TakenAsStop(came, stop unix.Signal) {
	dump := ""
	if came == unix.SIGQUIT {
		dump = ", after a dump,"
	}
	j.Say(takenAsStop, came, stop, dump, asTheStop(came), signals.Short(came), signals.Short(stop))
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
	j.OnceOf(came, noEffect, came, asTheStop(came), signals.Short(came))
}

// ErrNoMasks says that /proc has no signal masks, as in gVisor.
var ErrNoMasks = errors.New("this kernel does not tell which signals a process handles")

// The lines about signals: which came, which were sent, and which were not.

// Sent writes a line for each process of a delivery that was made, with its rule, and notes the stop signal.
// A delivery without a rule gets no line.
func (j *Journal) Sent(d forward.Delivery) {
	for _, p := range d.Reached() {
		if d.Stop {
			j.Note("sent "+signals.Name(d.Signal)+": "+d.Rule, p.ID)
		}
		if d.Rule != "" {
			j.Say(delivered, d.Signal, p, d.Rule)
		}
	}
}

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
	j.Say(m, names(w.Processes), why, *w.Processes[0])
}

// Late writes one line about the processes that were signalled only in the last or the final call. There may
// be thousands. made has the deliveries of the call.
func (j *Journal) Late(made []forward.Delivery) {
	made = slices.DeleteFunc(slices.Clone(made), func(d forward.Delivery) bool { return !d.Late })
	if len(made) > 0 {
		j.Say(signalledLate, made[0].Signal, recipients(made), made[0].Process)
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
