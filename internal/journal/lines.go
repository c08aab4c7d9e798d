package journal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
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
	j.last(notStarted, true, why, ending(worker.ReasonNotStarted, status))
}

// StoppedEarly writes that a stop signal came before the worker was started.
func (j *Journal) StoppedEarly(sig unix.Signal, status int) {
	j.last(endEarly, true, Came(sig), ending(worker.ReasonStop, status))
}

// NotReady writes that a worker is not ready after some time, with what is awaited.
func (j *Journal) NotReady(after time.Duration, awaited health.Condition) {
	j.Once(notReady, logx.Round(after), awaited)
}

// Ready writes that it is, if there was a line that it was not.
func (j *Journal) Ready(after time.Duration) {
	if j.said[notReady.text] {
		j.Once(readyAtLast, logx.Round(after))
	}
}

// Announce writes the line of an action that needs no more than what is alive.
func (j *Journal) Announce(now time.Time, a machine.Action, living func() Living) {
	switch a.Kind {
	case machine.AnnounceSignaled: // the end of a stop delay, when the worker is sent the stop signal
		j.Say(delayOver, j.sentTo(": "), j.timeLeft(now), fieldsOf(Came(a.Signal)))
	case machine.AnnounceStop: // the first stop signal in a drain that began without one
		j.Say(graceStarts, Came(a.Signal), j.timeLeft(now))
	case machine.AnnounceSame: // a stop signal that came with the first, and is no force-stop
		j.Once(stopRepeated, Came(a.Signal), machine.SameRequest)
	case machine.AnnounceIgnored: // a second stop signal that is no force-stop
		j.Once(stopIgnored, Came(a.Signal))
	case machine.AnnounceLeaving: // a worker has exited, with which drainit ends
		if living := living(); living.Err != nil || len(living.All) > 0 {
			j.exited = true
			j.Say(killLeaving, j.worker, j.worker.Exit, living, ending(worker.ReasonWorkerOnly, j.worker.Exit.ExitStatus()))
		}
	case machine.AnnounceProgress: // the processes that a drain still waits for
		living := living()
		remaining := phrase{fields: living.count()}
		if len(living.All) > 0 { // else it is hidden from us
			remaining.words = fmt.Sprintf("%s left (%s), ", logx.Processes(len(living.All)), logx.List(living.All, j.marked((*proc.Process).String)))
		}
		j.Say(draining, remaining, j.timeLeft(now))
		for _, p := range living.All {
			if w := j.waiting[p.PID]; w.rule != "" && !w.said {
				j.Say(notSignalledYet, *p, w.rule)
				j.waiting[p.PID] = waits{w.rule, true}
			}
		}
	case machine.AnnounceStuck: // what outlived SIGKILL
		j.Say(stillAlive, machine.KillingTime, j.states(living()), []logx.Field{reasonField(j.reason())})
	default: // a bug, and no reason for PID 1 to end
		j.Say(noSuchAction, a.Kind)
	}
}

// Quiet writes the line of a TSTP: whether a process handles it, the processes that it was sent to, and why
// that is not known. A process is sent it once.
func (j *Journal) Quiet(sig unix.Signal, handled bool, sent []forward.Delivery, err error) {
	switch {
	case err != nil:
		j.Say(quietUnknown, sig, err)
	case !handled:
		j.Say(quietNowhere, j.worker, sig)
	case len(sent) == 0:
		j.Say(quietAlready, sig)
	default:
		j.Say(quieted, sig, recipients(sent))
	}
}

// Running writes the end of quiet.
func (j *Journal) Running(sig unix.Signal, sent []forward.Delivery) {
	if len(sent) == 0 {
		j.Say(running)
		return
	}
	j.Say(runningSent, sig, recipients(sent))
}

func recipients(sent []forward.Delivery) string {
	return logx.List(sent, func(d forward.Delivery) string { return d.Process.String() })
}

// Draining writes the line of the first stop signal: its receivers, and the next step. unsent is who says that it goes
// to no process, "" where it does.
func (j *Journal) Draining(now time.Time, sig unix.Signal, interactive bool, unsent string) {
	then := j.timeLeft(now)
	if end, ok := j.machine.GraceEnd(); ok {
		then.words = fmt.Sprintf("what still runs after %s is killed", tenths(end.Sub(now)))
	}
	if interactive && sig == unix.SIGINT {
		then.words += ", Ctrl-C again kills at once"
	}
	if unsent != "" {
		j.Say(stoppingUnsent, Came(sig), unsent, then)
	} else if j.firstStop.Signal == sig {
		j.Say(stopping, j.sentTo(""), then, fieldsOf(Came(sig)))
	} else { // it is rewritten, a shell is sent TERM, or none was sent
		j.Say(stoppingOn, Came(sig), j.sentTo(": "), then)
	}
}

// sentTo names the processes that were sent the stop signal, with before in front of them. It is empty if no process
// was sent one: a failure has a line of its own.
func (j *Journal) sentTo(before string) phrase {
	first := j.firstStop
	if first.Signal == 0 {
		return phrase{}
	}
	words := fmt.Sprintf("%s%s sent to %v", before, signals.Name(first.Signal), first.Process)
	if j.stopsSent > 1 {
		words += fmt.Sprintf(" and %d more", j.stopsSent-1)
	}
	return phrase{words, fieldsOf(first.Signal)}
}

// Exited writes that the worker exited by itself and left processes. A process that dies with it, and is only
// not reaped yet, gets no line. sig is sent to the others, 0 if none is yet.
func (j *Journal) Exited(now time.Time, living Living, sig unix.Signal) {
	if living.Err == nil && len(living.All) == 0 {
		return
	}
	j.exited = true
	then, hint := j.timeLeft(now), ""
	if living.Err == nil && j.machine.Phase() == machine.Draining && sig != 0 {
		then.words = signals.Name(sig) + " now, " + then.words
	}
	if j.worker.Exit.ExitStatus() == 0 { // a daemon, or a script that ends with app &
		hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	}
	j.Say(leftBehind, j.worker, j.worker.Exit, living, then, hint, j.workersEnd())
}

// Successor writes that a process took the worker's place.
func (j *Journal) Successor(p proc.Process) {
	j.Say(successor, j.worker, j.worker.Exit, p, j.workersEnd())
}

// Daemonized writes that the worker exited and runs on in the processes that it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	j.exited = true
	j.Say(daemonized, j.worker, j.worker.Exit, Living{All: left}, j.workersEnd())
}

// DiedOf writes that the worker died of a signal that was not a stop signal. By the status alone it looks like
// one.
func (j *Journal) DiedOf(by unix.Signal) {
	m := diedForwarded
	switch sent := j.worker.Sent.Has(by); {
	case !sent && by == unix.SIGKILL:
		m = diedOfKill
	case !sent:
		m = diedOfOther
	case j.worker.Unhandled.Has(by):
		m = diedUnhandled
	case !j.worker.Forwarded.Has(by):
		return
	}
	j.Message = j.Say(m, j.worker, by, j.workersEnd())
}

// Reaped writes that an orphan has ended, as tini's -w does. Its name is lost by then.
func (j *Journal) Reaped(e reaper.WaitEvent) {
	j.Say(reaped, e.PID, e.ExitStatus(), []logx.Field{logx.Value("pid", e.PID), logx.Value("status", e.ExitStatus())})
}

// The lines about signals: which came, which were sent, and which were not.

// Sent is a delivery that was made, with its rule.
func (j *Journal) Sent(d forward.Delivery) {
	if d.Stop {
		j.stopsSent += len(d.Reached())
		if j.firstStop.Signal == 0 {
			j.firstStop = d
		}
	}
	for _, p := range d.Reached() {
		delete(j.waiting, p.PID)
		if d.Rule != "" {
			j.Say(delivered, d.Signal, p, d.Rule)
		}
	}
}

// waits is why a child was not signalled, "" where a line has said so at once, and whether one has said it since.
type waits struct {
	rule string
	said bool
}

// Ended notes that a child has ended. There may be any number of them in a drain, so nothing of it is kept.
func (j *Journal) Ended(e worker.Exit) {
	delete(j.waiting, e.PID)
	j.Note(e.String(), proc.ID{PID: e.PID})
}

// Waiting writes which processes were not signalled, and why.
func (j *Journal) Waiting(w forward.Waiting) {
	these := phrase{names(w.Processes), fieldsOf(*w.Processes[0])}
	later := "drainit does not signal it, as the grace period is infinite"
	if end, limited := j.machine.GraceEnd(); limited {
		later = "it is signalled " + tenths(end.Sub(j.machine.CallAt(w.Call == forward.FinalCall))) + " before SIGKILL at the latest"
	}
	if w.Advice != "" {
		later += "; " + w.Advice
	}
	yet := w.Rule
	if w.Undecided {
		yet = "" // its line says it all
	}
	for _, p := range w.Processes {
		if p.PPID == os.Getpid() {
			j.waiting[p.PID] = waits{yet, j.waiting[p.PID].said}
		}
	}
	if w.Undecided {
		j.Say(undecided, these, w.Rule, later)
		j.Note(w.Rule+"; "+later, w.IDs()...)
	} else {
		j.Say(notSignalled, these, w.Rule)
		j.Note(w.Rule, w.IDs()...)
	}
}

// Late writes which processes were signalled in the last or the final call alone. There may be thousands.
func (j *Journal) Late(now time.Time, made []forward.Delivery) {
	made = slices.DeleteFunc(slices.Clone(made), func(d forward.Delivery) bool { return !d.Late })
	if len(made) > 0 {
		j.Say(signalledLate, made[0].Signal, phrase{recipients(made), fieldsOf(made[0].Process)}, j.timeLeft(now))
	}
}

// Refused writes that a process may not be signalled, once.
func (j *Journal) Refused(d forward.Delivery, err error) {
	if errors.Is(err, reaper.ErrGone) || !j.first(fmt.Sprint("refused ", d.Process.ID)) {
		return
	}
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	j.Say(refused, d.Signal, d.Process, err, hint)
}
