package supervisor

import (
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// journal writes the lines of the loop, and keeps what is said once. It reads the machine
// and the worker, and changes neither.
type journal struct {
	log     *logx.Log
	cfg     *Config
	machine *Machine
	worker  *worker
	said    map[string]bool
	message string // the termination message: what the exit status can't say
}

// once reports whether a thing is said for the first time.
func (j *journal) once(thing string) bool {
	if j.said[thing] {
		return false
	}
	j.said[thing] = true
	return true
}

// The fields of JSON lines.

func (j *journal) phase() zapcore.Field { return logx.Text("phase", j.machine.Phase().String()) }

func signalField(sig unix.Signal) zapcore.Field { return logx.Text("signal", signals.Name(sig)) }

func (j *journal) leftSeconds(now time.Time) zapcore.Field {
	if end, ok := j.machine.GraceEnd(); ok {
		return logx.Seconds("left_s", end.Sub(now))
	}
	return zapcore.Field{Type: zapcore.SkipType}
}

// about are the fields of a line about one process.
func about(p proc.Process, fields ...zapcore.Field) []zapcore.Field {
	return append(fields, logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// timeLeft is how much of the grace is left.
func (j *journal) timeLeft(now time.Time) string {
	if end, ok := j.machine.GraceEnd(); ok {
		return "SIGKILL in " + end.Sub(now).Round(100*time.Millisecond).String()
	}
	if j.machine.Phase() == phase.Killing {
		return "SIGKILL at once: the grace is 0"
	}
	return "no SIGKILL: the grace is infinite"
}

// warning writes what package diag has found; an empty one is none.
func (j *journal) warning(w diag.Warning) {
	if w.Text != "" {
		j.log.Warn(w.Text, about(w.Process, j.phase())...)
	}
}

// warningOnce does so once.
func (j *journal) warningOnce(thing string, w diag.Warning) {
	if w.Text != "" && j.once(thing) {
		j.warning(w)
	}
}

// unreachable is for a drainit that no stop signal can reach.
func (j *journal) unreachable(w diag.Warning) {
	if w.Text != "" {
		j.log.Warn(w.Text, about(w.Process)...)
	}
}

// notStarted is why there is no worker.
func (j *journal) notStarted(why string) {
	j.log.Error(why)
	j.message = why
}

// stoppedEarly is a stop signal that came before the worker was started.
func (j *journal) stoppedEarly(sig unix.Signal) {
	j.message = signals.Name(sig) + " came before the start: the worker is not started"
	j.log.Info(j.message, logx.Text("phase", phase.Done.String()), signalField(sig))
}

func (j *journal) started() {
	j.log.Debug("started "+j.worker.String(), about(j.worker.Process())...)
}

func (j *journal) dropped(sig unix.Signal) {
	j.log.Debug("dropped "+signals.Name(sig), signalField(sig))
}

// hungUp is a HUP that says that the terminal has gone, so that it counts as a stop signal.
func (j *journal) hungUp(sig, as unix.Signal) {
	j.log.Info("the terminal is gone: "+signals.Name(sig)+" counts as "+signals.Name(as), j.phase(), signalField(sig))
}

// forNone is a signal whose worker has gone.
func (j *journal) forNone(sig unix.Signal) {
	j.log.Debug("the worker has gone: "+signals.Name(sig)+" is for nobody", signalField(sig))
}

// sent is a line for each delivery that was made, with its rule.
func (j *journal) sent(d forward.Delivery) {
	if !j.log.Verbose() || d.Rule == "" {
		return
	}
	to := d.Members
	if len(to) == 0 {
		to = []proc.Process{d.Process}
	}
	for _, p := range to {
		j.log.Debug(fmt.Sprintf("told %v %s: %s", p, signals.Name(d.Signal), d.Rule), about(p, j.phase(), signalField(d.Signal))...)
	}
}

// unseen is what a worker left where /proc can't be read.
func (j *journal) unseen(why error) {
	j.log.Warn("cannot tell what the worker left behind: " + why.Error())
}

// broadcast is for a signal to the whole PID namespace.
func (j *journal) broadcast(why error) {
	j.log.Warn("sent SIGTERM to every process that is left, whoever was told before: "+why.Error(), signalField(unix.SIGTERM))
}

func (j *journal) notPassed(sig unix.Signal, why error) {
	j.log.Warn("cannot pass " + signals.Name(sig) + " on: " + why.Error())
}

// refused warns, once for each process, of one that may not be signalled.
func (j *journal) refused(d forward.Delivery, err error) {
	if errors.Is(err, reaper.ErrGone) || !j.once(fmt.Sprint("refused ", d.Process.ID)) {
		return
	}
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	j.log.Warn(fmt.Sprintf("cannot send %s to %v: %v%s", signals.Name(d.Signal), d.Process, err, hint), about(d.Process, signalField(d.Signal))...)
}

// successor is the process that took the worker's place.
func (j *journal) successor(p proc.Process) {
	j.log.Debug(fmt.Sprintf("%v %s, as told: its heir %v is the worker now", j.worker, j.worker.howExited(), p), about(p, j.phase())...)
}

// killedFromOutside is for a worker that died of a signal which drainit did not send: the
// status alone would not tell that from a stop.
func (j *journal) killedFromOutside(by unix.Signal) {
	why := "it came from the worker itself, or from outside"
	if by == unix.SIGKILL {
		why = "out of memory, or a kill from outside"
	}
	j.message = fmt.Sprintf("%v was killed by %s, which drainit did not send: %s", j.worker, signals.Name(by), why)
	j.log.Warn(j.message, about(j.worker.Process(), signalField(by))...)
}

// reaped is tini's -w: what became of an orphan. Its name went with it.
func (j *journal) reaped(e reaper.WaitEvent) {
	if j.cfg.WarnReaped {
		j.log.Warn(fmt.Sprintf("reaped orphan %d, exit status %d", e.PID, e.ExitStatus()), logx.Number("pid", e.PID))
	}
}

// settings are all of them, for -v.
func (j *journal) settings() {
	if !j.log.Verbose() {
		return
	}
	c := j.cfg
	parentDeath, health, report := "nothing", "off", "off"
	if c.ParentDeathSignal != 0 {
		parentDeath = signals.Name(c.ParentDeathSignal)
	}
	if c.HealthAddr.Given() {
		health = c.HealthAddr.String()
	}
	if c.TerminationLog != "" {
		report = c.TerminationLog
	}
	grace := c.Grace.String()
	if c.Grace == Forever {
		grace = "infinity"
	}
	j.log.Debug(fmt.Sprintf("settings: grace %s, stop delay %v, also stopped by %v, rewrites [%v], forward %s, forking %v, exit statuses reported as 0 %v, sent %s when the parent dies, reaped orphans logged %v, health address %s, termination log %s, log level %v, log format %s, pid %d",
		grace, c.StopDelay, signals.Names(c.StopSignals), c.Rewrites, c.Mode, c.Forking, c.RemapExit, parentDeath, c.WarnReaped, health, report, j.log.Level(), j.log.Format(), os.Getpid()))
}

// writeMessage writes the termination message, if there is one and the file is there for
// it. That one which was asked for can't be written is worth a warning.
func (j *journal) writeMessage() {
	file := j.cfg.TerminationLog
	if err := logx.WriteTerminationLog(file, j.message); err != nil && file != logx.DefaultTerminationLog {
		j.log.Warn(fmt.Sprintf("cannot write the termination message to %s: %v", file, err))
	}
}
