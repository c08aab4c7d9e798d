package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// The lines of the phases, in the order in which they come.

// Quieted is what became of a TSTP: it is handled by some, or by none, and was sent to
// those that had not been sent it.
type Quieted struct {
	Signal  unix.Signal
	Handled bool
	Sent    []*proc.Process
	Err     error
	// Stopping is whether the stop is what the worker is quieted for (--stop-delay): then
	// that it has no handler is no news.
	Stopping bool
}

// Quiet is the line of a TSTP.
func (j *Journal) Quiet(q Quieted) {
	name := signals.Name(q.Signal)
	fields := []logx.Field{j.phase(), signalField(q.Signal)}
	switch {
	case q.Stopping && (q.Err != nil || !q.Handled):
	case q.Err != nil:
		j.Log.Warn(fmt.Sprintf("quiet has no effect: %s was sent to no process, since which of them handle it is unknown: %v", name, q.Err), fields...)
	case !q.Handled:
		j.Log.Warn(fmt.Sprintf("quiet has no effect: %v has no %s handler and keeps taking work. If it uses another signal for this: --rewrite TSTP:%s", j.worker, name, otherThan(q.Signal)),
			about(j.worker.Process(), fields...)...)
	case len(q.Sent) == 0:
		j.Log.Info(fmt.Sprintf("quiet: no new process handles %s", name), fields...)
	default:
		j.Log.Info(fmt.Sprintf("quiet: %s to %s", name, List(q.Sent)), fields...)
	}
}

// otherThan is a signal that programs use for this, too.
func otherThan(sig unix.Signal) string {
	if sig == unix.SIGUSR1 {
		return "USR2"
	}
	return "USR1"
}

// Frozen is a process that stopped by a TSTP that drainit sent it.
func (j *Journal) Frozen(p proc.Process) {
	j.Log.Warn(p.String()+" stopped itself on SIGTSTP instead of becoming quiet, and was continued. If it uses another signal for this: --rewrite TSTP:USR1",
		about(p, j.phase())...)
}

func (j *Journal) Running(sig unix.Signal, sent []*proc.Process) {
	msg := "running again"
	if len(sent) > 0 {
		msg += fmt.Sprintf(": %s to %s", signals.Name(sig), List(sent))
	}
	j.Log.Info(msg, j.phase(), signalField(sig))
}

// Draining is the first stop signal: where it was sent to, and what comes next.
func (j *Journal) Draining(now time.Time, sig unix.Signal, interactive bool) {
	msg := "stopping on " + signals.Name(sig)
	if d := j.firstStop; d != nil {
		msg = fmt.Sprintf("stopping: %s sent to %v", signals.Name(d.Signal), d.Process)
	}
	if j.stopsSent > 1 {
		msg += fmt.Sprintf(" and %d more", j.stopsSent-1)
	}
	if end, ok := j.machine.GraceEnd(); ok {
		msg += fmt.Sprintf("; what still runs after %v is killed", end.Sub(now).Round(100*time.Millisecond))
	} else {
		msg += "; " + j.timeLeft(now)
	}
	if interactive && sig == unix.SIGINT {
		msg += ", Ctrl-C again kills at once"
	}
	j.Log.Info(msg, j.phase(), signalField(sig), j.leftSeconds(now))
}

// Exited names what a worker that exited by itself has left. What is dying with it, and
// only not reaped yet, is not worth a line. hint says what to do, if anything.
func (j *Journal) Exited(now time.Time, left []*proc.Process, err error, hint string) {
	if err == nil && len(left) == 0 {
		return
	}
	j.Once(exitReported)
	fields := about(j.worker.Process(), j.phase())
	what := "what /proc does not show"
	if err == nil {
		what = fmt.Sprintf("%s (%s)", logx.Processes(len(left)), List(left))
		fields = append(fields, logx.Number("left", len(left)))
	}
	fields = append(fields, j.leftSeconds(now))
	j.Log.Warn(fmt.Sprintf("%v %s and left %s, %s%s", j.worker, j.worker.HowExited(), what, j.timeLeft(now), hint), fields...)
}

// exitReported is said of a worker that exited by itself: then its end is, too.
const exitReported = "the worker exited"

// ForkingHint is for a worker that has daemonized, it seems: what it left leads a session
// of its own.
func (j *Journal) ForkingHint(left []*proc.Process, interactive bool) string {
	session := j.worker.PID
	if interactive {
		session, _ = unix.Getsid(0)
	}
	daemon := slices.ContainsFunc(left, func(p *proc.Process) bool { return p.PPID == os.Getpid() && p.SID != session })
	if j.worker.Exit.ExitStatus() != 0 || !daemon {
		return ""
	}
	return "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
}

// Daemonized is a worker that exited and runs on in what it left.
func (j *Journal) Daemonized(left []*proc.Process) {
	j.Log.Info(fmt.Sprintf("%v %s and runs on in %s (%s)", j.worker, j.worker.HowExited(), logx.Processes(len(left)), List(left)),
		append(about(j.worker.Process(), j.phase()), logx.Number("left", len(left)))...)
}

// StopRequested is the first stop signal in a drain that began without one.
func (j *Journal) StopRequested(now time.Time, sig unix.Signal) {
	j.Log.Info(fmt.Sprintf("%s: the grace period starts now, %s", signals.Name(sig), j.timeLeft(now)), j.phase(), signalField(sig), j.leftSeconds(now))
}

func (j *Journal) Same(sig unix.Signal) {
	if j.Once("the same request") {
		j.Log.Info(fmt.Sprintf("%s within %v of the first stop signal is the same request, no force-stop", signals.Name(sig), machine.SameRequest),
			j.phase(), signalField(sig))
	}
}

// Ignored is a second stop signal that is no force-stop.
func (j *Journal) Ignored(sig unix.Signal) {
	if j.Once("ignored") {
		j.Log.Info(fmt.Sprintf("%s again: ignored, as --second-stop says; drainit stop --force kills what is left", signals.Name(sig)), j.phase(), signalField(sig))
	}
}

// Signaled is a worker that was sent the stop signal at the end of a stop delay.
func (j *Journal) Signaled(now time.Time) {
	d := j.firstStop
	if d == nil { // what failed has a line
		j.Log.Info("the stop delay is over, "+j.timeLeft(now), j.phase(), j.leftSeconds(now))
		return
	}
	j.Log.Info(fmt.Sprintf("the stop delay is over: %s sent to %v, %s", signals.Name(d.Signal), d.Process, j.timeLeft(now)),
		about(d.Process, j.phase(), signalField(d.Signal), j.leftSeconds(now))...)
}

// Leaving is a worker that has exited, with which drainit ends; left is what it leaves.
func (j *Journal) Leaving(left []*proc.Process, err error) {
	switch {
	case err != nil:
		j.Log.Info(fmt.Sprintf("%v %s: killing what it left, as --forward worker says", j.worker, j.worker.HowExited()), about(j.worker.Process(), j.phase())...)
	case len(left) > 0:
		j.Log.Info(fmt.Sprintf("%v %s: killing %s, as --forward worker says", j.worker, j.worker.HowExited(), List(left)),
			append(about(j.worker.Process(), j.phase()), logx.Number("left", len(left)))...)
	}
}

func (j *Journal) Progress(now time.Time, left []*proc.Process, err error) {
	if err != nil || len(left) == 0 { // or hidden from us
		j.Log.Info("draining, "+j.timeLeft(now), j.phase(), j.leftSeconds(now))
		return
	}
	j.Log.Info(fmt.Sprintf("draining, %s left (%s), %s", logx.Processes(len(left)), List(left), j.timeLeft(now)),
		j.phase(), logx.Number("left", len(left)), j.leftSeconds(now))
}

// Killing names each process that is about to be killed: it can't be asked afterwards.
func (j *Journal) Killing(why string, left []*proc.Process, err error) {
	switch {
	case err != nil:
		j.Log.Warn(why+": killing everything that is left", j.phase())
	case len(left) == 0: // what there is, is ending or hidden from us
		j.Log.Warn(why+": killing what is left", j.phase(), logx.Number("left", 0))
	default:
		j.Log.Warn(fmt.Sprintf("%s: killing %s", why, logx.List(left, logx.WithState)), j.phase(), logx.Number("left", len(left)))
	}
}

// Stuck is what outlived SIGKILL.
func (j *Journal) Stuck(left []*proc.Process, err error) {
	if err != nil {
		j.Log.Error(fmt.Sprintf("leaving %v after SIGKILL, and what is still alive can't be seen: %v", machine.KillingTime, err), j.phase())
		return
	}
	if len(left) == 0 {
		j.Log.Error(fmt.Sprintf("leaving %v after SIGKILL: the kernel has not let go of what was killed", machine.KillingTime), j.phase(), logx.Number("left", 0))
		return
	}
	j.Log.Error(fmt.Sprintf("leaving %v after SIGKILL, still alive: %s", machine.KillingTime, logx.List(left, logx.WithState)),
		j.phase(), logx.Number("left", len(left)))
}

// Kill is what SIGKILL was sent to.
type Kill struct {
	Why     string // "" where nothing was killed
	At      time.Time
	Victims string // their names, "" where none was alive
	Count   int    // of them, 0 where that is not known
	Any     bool   // something alive was to be killed
}

// End is the last line: how long it took, how the worker ended, what was killed and why.
// There is none where the worker ended by itself and left nothing.
func (j *Journal) End(killed Kill, status int) {
	var since time.Time
	now := time.Now()
	at, requested := j.machine.Requested()
	if requested {
		since = at
	} else if j.worker.Gone() {
		since = j.worker.Exit.At
	}
	if killed.Why != "" && killed.Victims != "" {
		what := j.worker.String() + " exited"
		if requested {
			what = signals.Name(j.machine.StopSignal())
		}
		j.message = fmt.Sprintf("%s: killed %s %.1fs after %s", killed.Why, killed.Victims, killed.At.Sub(since).Seconds(), what)
	}
	if !requested && !j.Said(exitReported) {
		return
	}
	fields := []logx.Field{j.phase(), logx.Number("status", status), logx.Seconds("duration_s", now.Sub(since))}
	if requested {
		fields = append(fields, signalField(j.machine.StopSignal()))
	}
	if killed.Victims != "" && killed.Count > 0 {
		fields = append(fields, logx.Number("killed", killed.Count))
	}
	j.Log.Info(j.ending(killed, requested, now.Sub(since))+j.exitStatus(status), fields...)
}

// ending is what came to an end, and how. A worker that drainit killed is named once.
func (j *Journal) ending(killed Kill, requested bool, took time.Duration) string {
	var parts []string
	if j.worker.Gone() && !(j.worker.Exit.TermSignal() == unix.SIGKILL && strings.Contains(killed.Victims, j.worker.String())) {
		parts = append(parts, fmt.Sprintf("%v %s", j.worker, j.worker.HowExited()))
	}
	if killed.Victims != "" {
		parts = append(parts, fmt.Sprintf("killed %s (%s)", killed.Victims, killed.Why))
	}
	begin := "stopped after " + logx.Round(took)
	if !requested {
		return "stopped " + logx.Round(took) + " after " + strings.Join(parts, "; ")
	}
	if len(parts) == 0 {
		return begin
	}
	return begin + ": " + strings.Join(parts, "; ")
}

// exitStatus is drainit's, where that is not the one that the worker is said to have exited
// with.
func (j *Journal) exitStatus(status int) string {
	if j.worker.Gone() && j.worker.Exit.TermSignal() == 0 && j.worker.Exit.ExitStatus() == status {
		return ""
	}
	return fmt.Sprintf("; exit status %d", status)
}

// namesOf names processes, at most ten.
func namesOf(all []proc.Process) string {
	these := make([]*proc.Process, len(all))
	for i := range all {
		these[i] = &all[i]
	}
	return List(these)
}

// List names processes, at most ten.
func List(all []*proc.Process) string { return logx.List(all, (*proc.Process).String) }

// GraceOver is why a kill begins at the end of a grace.
func (j *Journal) GraceOver() string {
	grace := j.machine.Grace()
	if _, requested := j.machine.Requested(); !requested {
		grace = min(grace, machine.CrashGrace)
	}
	return fmt.Sprintf("grace period of %v over", grace)
}
