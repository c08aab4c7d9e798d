// Package journal writes the lines of the loop: every sentence that drainit says of a
// worker and its stop.
//
// It owns their words, and what is said once. It reads the machine and the worker; it
// must never change them, read /proc or decide anything.
package journal

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
)

// Journal writes the lines of the loop, and keeps what is said once. It reads the machine
// and the worker, and changes neither.
type Journal struct {
	Log     *logx.Log
	machine *machine.Machine
	worker  *worker.Worker
	said    map[string]bool
	// The first that was sent in a stop, nil for none, and how many there were.
	firstStop *forward.Delivery
	stopsSent int
	message   string // the termination message: what the exit status can't say
}

// New returns a journal that has said nothing.
func New(log *logx.Log, m *machine.Machine, w *worker.Worker) *Journal {
	return &Journal{Log: log, machine: m, worker: w, said: make(map[string]bool)}
}

// Said reports whether a thing has been said.
func (j *Journal) Said(thing string) bool { return j.said[thing] }

// Once reports whether a thing is said for the first time.
func (j *Journal) Once(thing string) bool {
	first := !j.said[thing]
	j.said[thing] = true
	return first
}

// The fields of JSON lines.

func (j *Journal) phase() logx.Field { return logx.Text("phase", j.machine.Phase().String()) }

func signalField(sig unix.Signal) logx.Field { return logx.Text("signal", signals.Name(sig)) }

func (j *Journal) leftSeconds(now time.Time) logx.Field {
	if end, ok := j.machine.GraceEnd(); ok {
		return logx.Seconds("left_s", end.Sub(now))
	}
	return &zapcore.Field{Type: zapcore.SkipType}
}

// about are the fields of a line about one process.
func about(p proc.Process, fields ...logx.Field) []logx.Field {
	return append(fields, logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// timeLeft is how much of the grace is left.
func (j *Journal) timeLeft(now time.Time) string {
	if end, ok := j.machine.GraceEnd(); ok {
		return "SIGKILL in " + end.Sub(now).Round(100*time.Millisecond).String()
	}
	if j.machine.Phase() == phase.Killing {
		return "SIGKILL at once: the grace period is 0"
	}
	return "no SIGKILL: the grace period is infinite"
}

// NotStarted is why there is no worker.
func (j *Journal) NotStarted(why string) {
	j.Log.Error(why)
	j.message = why
}

// StoppedEarly is a stop signal that came before the worker was started.
func (j *Journal) StoppedEarly(sig unix.Signal) {
	j.message = signals.Name(sig) + " came before the start: the worker is not started"
	j.Log.Info(j.message, logx.Text("phase", phase.Done.String()), signalField(sig))
}

func (j *Journal) Started() {
	j.Log.Debug("started "+j.worker.String(), about(j.worker.Process())...)
}

func (j *Journal) Dropped(sig unix.Signal) {
	j.Log.Debug("dropped "+signals.Name(sig), signalField(sig))
}

// HungUp is a HUP that says that the terminal has gone, so that it counts as a stop signal.
func (j *Journal) HungUp(sig, as unix.Signal) {
	j.Log.Info("the terminal is gone: "+signals.Name(sig)+" counts as "+signals.Name(as), j.phase(), signalField(sig))
}

// ForNone is a signal whose worker has gone.
func (j *Journal) ForNone(sig unix.Signal) {
	j.Log.Debug("the worker has gone: "+signals.Name(sig)+" is dropped", signalField(sig))
}

// Sent is a line for each delivery that was made, with its rule.
func (j *Journal) Sent(d forward.Delivery) {
	if d.Stop {
		j.stopsSent += max(1, len(d.Members))
		if j.firstStop == nil {
			j.firstStop = &d
		}
	}
	if !j.Log.Verbose() || d.Rule == "" {
		return
	}
	to := d.Members
	if len(to) == 0 {
		to = []proc.Process{d.Process}
	}
	for _, p := range to {
		j.Log.Debug(fmt.Sprintf("sent %s to %v: %s", signals.Name(d.Signal), p, d.Rule), about(p, j.phase(), signalField(d.Signal))...)
	}
}

// Unseen is what a worker left where /proc can't be read.
func (j *Journal) Unseen(why error) {
	j.Log.Warn("cannot tell what the worker left behind: " + why.Error())
}

// Broadcast is for a signal to the whole PID namespace.
func (j *Journal) Broadcast(why error) {
	j.Log.Warn("sent SIGTERM to every process that is left, signalled before or not: "+why.Error(), signalField(unix.SIGTERM))
}

func (j *Journal) NotPassed(sig unix.Signal, why error) {
	j.Log.Warn("cannot pass " + signals.Name(sig) + " on: " + why.Error())
}

// Refused warns, once for each process, of one that may not be signalled.
func (j *Journal) Refused(d forward.Delivery, err error) {
	if errors.Is(err, reaper.ErrGone) || !j.Once(fmt.Sprint("refused ", d.Process.ID)) {
		return
	}
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	j.Log.Warn(fmt.Sprintf("cannot send %s to %v: %v%s", signals.Name(d.Signal), d.Process, err, hint), about(d.Process, signalField(d.Signal))...)
}

// Successor is the process that took the worker's place.
func (j *Journal) Successor(p proc.Process) {
	j.Log.Debug(fmt.Sprintf("%v %s; %v is the worker now", j.worker, j.worker.HowExited(), p), about(p, j.phase())...)
}

// KilledFromOutside is for a worker that died of a signal which drainit did not send: by the
// status alone it looks like a stop.
func (j *Journal) KilledFromOutside(by unix.Signal) {
	why := "it came from the worker itself, or from outside"
	if by == unix.SIGKILL {
		why = "out of memory, or a kill from outside"
	}
	j.message = fmt.Sprintf("%v was killed by %s, which drainit did not send: %s", j.worker, signals.Name(by), why)
	j.Log.Warn(j.message, about(j.worker.Process(), signalField(by))...)
}

// KilledByForwarded is for a worker that died of a signal which drainit forwarded: there
// was no stop, and none is to be read from the status.
func (j *Journal) KilledByForwarded(by unix.Signal) {
	j.message = fmt.Sprintf("%v died of %s, which drainit forwarded", j.worker, signals.Name(by))
	if j.worker.Unhandled.Has(by) {
		j.message += ": it has no handler for it"
	}
	j.Log.Warn(j.message, about(j.worker.Process(), signalField(by))...)
}

// WorkerStopped is for a worker that another has stopped: it is alive and does nothing.
func (j *Journal) WorkerStopped() {
	if j.Once("stopped") {
		j.Log.Warn(fmt.Sprintf("%v is stopped (state T) and does no work; drainit did not stop it, and SIGCONT continues it (kill -CONT %d)", j.worker, j.worker.PID),
			about(j.worker.Process(), j.phase())...)
	}
}

// Reaped is tini's -w: what became of an orphan. Its name went with it.
func (j *Journal) Reaped(e reaper.WaitEvent) {
	j.Log.Warn(fmt.Sprintf("reaped orphan %d, exit status %d", e.PID, e.ExitStatus()), logx.Number("pid", e.PID))
}

// Settings are those that differ from the default, for -v.
func (j *Journal) Settings(all string) {
	j.Log.Debug(fmt.Sprintf("settings: %s; log level %v, log format %s, pid %d", all, j.Log.Level(), j.Log.Format(), os.Getpid()))
}

// Message is the termination message so far, "" where there is nothing to say.
func (j *Journal) Message() string { return j.message }

// WriteMessage writes the termination message, if there is one and the file is there for
// it. That one which was asked for can't be written is worth a warning.
func (j *Journal) WriteMessage(file string) {
	if err := logx.WriteTerminationLog(file, j.message); err != nil && file != logx.DefaultTerminationLog {
		j.Log.Warn(fmt.Sprintf("cannot write the termination message to %s: %v", file, err))
	}
}
