package journal

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// The lines of the phases, in the order in which they come.

// Quiet is a TSTP: whether it is handled, the processes that it was sent to, and why that is
// not known. A process is sent it once.
func (j *Journal) Quiet(sig unix.Signal, handled bool, sent []*proc.Process, err error) {
	name := signals.Name(sig)
	switch {
	case err != nil:
		j.warn(of(sig), "quiet has no effect: %s was sent to no process, since which of them handle it is unknown: %v", name, err)
	case !handled:
		another := unix.SIGUSR1
		if sig == another {
			another = unix.SIGUSR2
		}
		j.warn(j.aboutWorker(of(sig)...), "quiet has no effect: %v has no %s handler and keeps taking work. "+
			"If it uses another signal for this: --rewrite TSTP:%s", j.worker, name, short(another))
	case len(sent) == 0:
		j.info(of(sig), "quiet: no new process handles %s", name)
	default:
		j.info(of(sig), "quiet: %s to %s", name, Left{All: sent}.names())
	}
}

// Frozen is a process that stopped by a TSTP that drainit sent it.
func (j *Journal) Frozen(p proc.Process) {
	j.warn(about(p), "%v stopped itself on SIGTSTP instead of becoming quiet, and was continued. If it uses another signal for this: --rewrite TSTP:USR1", p)
}

// Running is the end of quiet.
func (j *Journal) Running(sig unix.Signal, sent []*proc.Process) {
	to := ""
	if len(sent) > 0 {
		to = fmt.Sprintf(": %s to %s", signals.Name(sig), Left{All: sent}.names())
	}
	j.info(of(sig), "running again%s", to)
}

// Draining is the first stop signal: where it was sent to, and what comes next.
func (j *Journal) Draining(now time.Time, sig unix.Signal, interactive bool) {
	begins, then := "stopping on "+signals.Name(sig), j.timeLeft(now)
	if sent := j.sentTo(); sent != "" {
		begins = "stopping: " + sent
	}
	if end, ok := j.machine.GraceEnd(); ok {
		then = fmt.Sprintf("what still runs after %v is killed", end.Sub(now).Round(100*time.Millisecond))
	}
	if interactive && sig == unix.SIGINT {
		then += ", Ctrl-C again kills at once"
	}
	j.info(of(sig, j.leftSeconds(now)), "%s; %s", begins, then)
}

// Signaled is the end of a stop delay, when the worker is sent the stop signal.
func (j *Journal) Signaled(now time.Time) {
	over := "the stop delay is over"
	if sent := j.sentTo(); sent != "" {
		over += ": " + sent
	}
	j.info(of(j.machine.StopSignal(), j.leftSeconds(now)), "%s, %s", over, j.timeLeft(now))
}

// sentTo are the processes that were sent the stop signal, "" where that failed: then there
// is another line.
func (j *Journal) sentTo() string {
	if j.firstStop == nil {
		return ""
	}
	more := ""
	if j.stopsSent > 1 {
		more = fmt.Sprintf(" and %d more", j.stopsSent-1)
	}
	return fmt.Sprintf("%s sent to %v%s", signals.Name(j.firstStop.Signal), j.firstStop.Process, more)
}

// Exited is a worker that exited by itself and left something. A process that dies with it,
// and is only not reaped yet, is not worth a line. mayFork says that it may have daemonized.
func (j *Journal) Exited(now time.Time, left Left, mayFork bool) {
	if left.Err == nil && len(left.All) == 0 {
		return
	}
	j.Once(exitReported)
	hint := ""
	if mayFork {
		hint = "; if it runs on in them, give drainit the flag --forking, or start it in the foreground"
	}
	j.warn(j.aboutWorker(left.count(), j.leftSeconds(now)), "%v %s and left %v, %s%s", j.worker, j.worker.HowExited(), left, j.timeLeft(now), hint)
}

// exitReported is said of a worker that exited by itself: then its end is, too.
const exitReported = "the worker exited"

// StopRequested is the first stop signal in a drain that began without one.
func (j *Journal) StopRequested(now time.Time, sig unix.Signal) {
	j.info(of(sig, j.leftSeconds(now)), "%s: the grace period starts now, %s", signals.Name(sig), j.timeLeft(now))
}

// Same is a stop signal that came with the first, and is no force-stop.
func (j *Journal) Same(sig unix.Signal) {
	if j.Once("the same request") {
		j.info(of(sig), "%s repeated within %v: treated as one request", signals.Name(sig), machine.SameRequest)
	}
}

// Ignored is a second stop signal that is no force-stop.
func (j *Journal) Ignored(sig unix.Signal) {
	if j.Once("ignored") {
		j.info(of(sig), "%s again: ignored, as --second-stop says; drainit stop --force kills what is left", signals.Name(sig))
	}
}

// Progress names the processes that a drain still waits for.
func (j *Journal) Progress(now time.Time, left Left) {
	remaining := ""
	if left.Err == nil && len(left.All) > 0 { // else it is hidden from us
		remaining = fmt.Sprintf("%s left (%s), ", logx.Processes(len(left.All)), left.names())
	}
	j.info([]logx.Field{left.count(), j.leftSeconds(now)}, "draining, %s%s", remaining, j.timeLeft(now))
}
