package journal

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// The lines of a worker's life, in the order in which they come.

// NotStarted is why there is no worker.
func (j *Journal) NotStarted(why string) { j.Message = j.Error("%s", why) }

// NotAdopting is a drainit that is not PID 1, where the system refuses that orphans come to it.
func (j *Journal) NotAdopting(why error) {
	j.Warn("cannot adopt orphans here, so what the worker leaves is neither waited for nor signalled: %v", why)
}

// StoppedEarly is a stop signal that came before the worker was started.
func (j *Journal) StoppedEarly(sig unix.Signal) {
	j.Message = j.info("%v came before the start: the worker is not started", sig)
}

// Started is a worker that runs.
func (j *Journal) Started() { j.debug("started %v", j.worker) }

// Announce writes the line of an action that needs no more than what is alive.
func (j *Journal) Announce(now time.Time, a machine.Action, left func() Left) {
	switch a.Kind {
	case machine.AnnounceSignaled: // the end of a stop delay, when the worker is sent the stop signal
		over := phrase{"the stop delay is over", fieldsOf(a.Signal)}
		if sent := j.sentTo(); sent != "" {
			over.words += ": " + sent
		}
		j.info("%v, %v", over, j.timeLeft(now))
	case machine.AnnounceStop: // the first stop signal in a drain that began without one
		j.info("%v: the grace period starts now, %v", a.Signal, j.timeLeft(now))
	case machine.AnnounceSame: // a stop signal that came with the first, and is no force-stop
		j.once(j.info, "%v repeated within %v: treated as one request", a.Signal, machine.SameRequest)
	case machine.AnnounceIgnored: // a second stop signal that is no force-stop
		j.once(j.info, "%v again: ignored, as --second-stop says; drainit stop --force kills what is left", a.Signal)
	case machine.AnnounceLeaving: // a worker has exited, with which drainit ends
		if left := left(); left.Err != nil || len(left.All) > 0 {
			j.info("%v %s: killing %v, as --forward worker says", j.worker, j.worker.HowExited(), left)
		}
	case machine.AnnounceProgress: // the processes that a drain still waits for
		left := left()
		remaining := phrase{fields: left.count()}
		if len(left.All) > 0 { // else it is hidden from us
			remaining.words = fmt.Sprintf("%s left (%s), ", logx.Processes(len(left.All)), names(left.All))
		}
		j.info("draining, %v%v", remaining, j.timeLeft(now))
	case machine.AnnounceStuck: // what outlived SIGKILL
		j.stuck = true
		j.Error("leaving %v after SIGKILL, still alive: %v", machine.KillingTime, left().states())
	default: // a bug, and no reason for PID 1 to end
		j.Error("no such action: %d", a.Kind)
	}
}

// Quiet is a TSTP: whether it is handled, the processes that it was sent to, and why that is
// not known. A process is sent it once.
func (j *Journal) Quiet(sig unix.Signal, handled bool, sent []*proc.Process, err error) {
	switch {
	case err != nil:
		j.Warn("quiet has no effect: %v was sent to no process, since which of them handle it is unknown: %v", sig, err)
	case !handled:
		j.Warn("quiet has no effect: %v has no %v handler and keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG", j.worker, sig)
	case len(sent) == 0:
		j.info("quiet: no new process handles %v", sig)
	default:
		j.info("quiet: %v to %s", sig, names(sent))
	}
}

// Frozen is a process that stopped by a TSTP that drainit sent it.
func (j *Journal) Frozen(p proc.Process) {
	j.Warn("%v stopped itself on SIGTSTP instead of becoming quiet, and was continued. If it uses another signal for this: --rewrite TSTP:SIG", p)
}

// Running is the end of quiet.
func (j *Journal) Running(sig unix.Signal, sent []*proc.Process) {
	if len(sent) == 0 {
		j.info("running again")
		return
	}
	j.info("running again: %v to %s", sig, names(sent))
}

// Draining is the first stop signal: where it was sent to, and what comes next.
func (j *Journal) Draining(now time.Time, sig unix.Signal, interactive bool) {
	begins, then := phrase{"stopping on " + signals.Name(sig), fieldsOf(sig)}, j.timeLeft(now)
	switch sent := j.sentTo(); {
	case strings.HasPrefix(sent, signals.Name(sig)+" "):
		begins.words = "stopping: " + sent
	case sent != "": // it is rewritten, or a shell is sent TERM
		begins.words += ": " + sent
	}
	if end, ok := j.machine.GraceEnd(); ok {
		then.words = fmt.Sprintf("what still runs after %s is killed", tenths(end.Sub(now)))
	}
	if interactive && sig == unix.SIGINT {
		then.words += ", Ctrl-C again kills at once"
	}
	j.info("%v; %v", begins, then)
}

// sentTo are the processes that were sent the stop signal, "" where that failed: then there
// is another line.
func (j *Journal) sentTo() string {
	if j.stopsSent > 1 {
		return fmt.Sprintf("%s and %d more", j.firstStop, j.stopsSent-1)
	}
	return j.firstStop
}

// Exited is a worker that exited by itself and left something. A process that dies with it,
// and is only not reaped yet, is not worth a line. sig is sent to them, and mayFork says
// that it may have daemonized.
func (j *Journal) Exited(now time.Time, left Left, sig unix.Signal, mayFork bool) {
	if left.Err == nil && len(left.All) == 0 {
		return
	}
	j.exited = true
	then, hint := j.timeLeft(now), ""
	if left.Err == nil && j.machine.Phase() == phase.Draining {
		then.words = signals.Name(sig) + " now, " + then.words
	}
	if mayFork {
		hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	}
	j.Warn("%v %s and left %v, %v%s", j.worker, j.worker.HowExited(), left, then, hint)
}

// Successor is the process that took the worker's place.
func (j *Journal) Successor(p proc.Process) {
	j.debug("%v %s; %v is the worker now", j.worker, j.worker.HowExited(), p)
}

// Daemonized is a worker that exited and runs on in what it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	j.info("%v %s and runs on in %v", j.worker, j.worker.HowExited(), Left{All: left})
}

// WorkerStopped is a worker that another has stopped: it is alive and does nothing.
func (j *Journal) WorkerStopped() {
	j.once(j.Warn, "%v is stopped (state T) and does no work; drainit did not stop it, and SIGCONT continues it (kill -CONT %d)", j.worker, j.worker.PID)
}

// DiedOf is a worker that died of a signal that was no stop: by the status alone it looks
// like one.
func (j *Journal) DiedOf(by unix.Signal) {
	switch sent := j.worker.Sent.Has(by); {
	case !sent && by == unix.SIGKILL:
		j.Message = j.Warn("%v was killed by %v, which drainit did not send: out of memory, its limit of CPU time, or a kill from outside", j.worker, by)
	case !sent:
		j.Message = j.Warn("%v was killed by %v, which drainit did not send: it came from the worker itself (a fault, a limit), or from outside", j.worker, by)
	case j.worker.Unhandled.Has(by):
		j.Message = j.Warn("%v died of %v, which drainit forwarded: it has no handler for it", j.worker, by)
	case j.worker.Forwarded.Has(by):
		j.Message = j.Warn("%v died of %v, which drainit forwarded", j.worker, by)
	}
}

// Reaped is an orphan that has ended, as tini's -w says it. Its name went with it.
func (j *Journal) Reaped(e reaper.WaitEvent) {
	j.Warn("reaped orphan %v, exit status %d", phrase{strconv.Itoa(e.PID), []logx.Field{logx.Value("pid", e.PID)}}, e.ExitStatus())
}

// The lines about signals: which came, which were sent, and which were not.

// Dropped is a signal that comes to nothing.
func (j *Journal) Dropped(sig unix.Signal, why string) { j.debug("dropped %v: %s", sig, why) }

// HungUp is a HUP that says that the terminal has gone, so that it counts as a stop signal.
func (j *Journal) HungUp(sig, as unix.Signal) {
	j.info("the terminal is gone: %v counts as %v", sig, as)
}

// Sent is a delivery that was made, with its rule.
func (j *Journal) Sent(d forward.Delivery) {
	if d.Stop {
		j.stopsSent += len(d.Reached())
		j.firstStop = cmp.Or(j.firstStop, fmt.Sprintf("%s sent to %v", signals.Name(d.Signal), d.Process))
	}
	if d.Rule == "" {
		return
	}
	for _, p := range d.Reached() {
		j.debug("sent %v to %v: %s", d.Signal, p, d.Rule)
	}
}

// Waiting is for processes that were not signalled, and why.
func (j *Journal) Waiting(w forward.Waiting) {
	these, by := phrase{logx.List(w.Processes, proc.Process.String), fieldsOf(w.Processes[0])}, w.By.String()
	later := "drainit does so shortly before SIGKILL"
	if _, limited := j.machine.GraceEnd(); !limited {
		later = "drainit does not, as the grace period is infinite"
	}
	if w.By.PID == 0 {
		by = "its parent"
	}
	switch {
	case !w.Undecided:
		j.debug("not signalled: %v: %s", these, w.Rule)
	case w.Gone:
		j.info("%v may have been signalled by %s, which has gone; %s", these, by, later)
	default:
		j.info("%v not signalled: %s above handles the stop signal and may have passed it on; %s", these, by, later)
	}
}

// Refused is a process that may not be signalled, once.
func (j *Journal) Refused(d forward.Delivery, err error) {
	if errors.Is(err, reaper.ErrGone) || !j.first(fmt.Sprint("refused ", d.Process.ID)) {
		return
	}
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	j.Warn("cannot send %v to %v: %v%s", d.Signal, d.Process, err, hint)
}

// Unseen is for a worker that has gone where /proc can't be read.
func (j *Journal) Unseen(why error) {
	j.once(j.Warn, "cannot tell what the worker left behind: %v", why)
}

// NotKilled is why a process was not sent SIGKILL, once: each further try fails, too.
func (j *Journal) NotKilled(why error) { j.once(j.Warn, "%v", why) }

// Broadcast is a signal to the whole PID namespace.
func (j *Journal) Broadcast(why error) {
	j.Warn("sent %v to every process that is left, signalled before or not: %v", unix.SIGTERM, why)
}
