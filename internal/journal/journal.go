// Package journal writes the lines of the loop: every sentence that drainit says of a
// worker and its stop.
//
// It owns their words, and what is said once. It reads the machine and the worker; it
// must never change them, read /proc or decide anything.
package journal

import (
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

// Once reports whether a thing is said for the first time.
func (j *Journal) Once(thing string) bool {
	first := !j.said[thing]
	j.said[thing] = true
	return first
}

// Message is the termination message so far, "" where there is nothing to say.
func (j *Journal) Message() string { return j.message }

// WriteMessage writes the termination message, if there is one and the file is there for
// it. A file that was asked for and can't be written is worth a warning.
func (j *Journal) WriteMessage(file string) {
	if err := logx.WriteTerminationLog(file, j.message); err != nil && file != logx.DefaultTerminationLog {
		j.warn(nil, "cannot write the termination message to %s: %v", file, err)
	}
}

func (j *Journal) debug(f []logx.Field, format string, args ...any) {
	j.line(zapcore.DebugLevel, f, format, args...)
}
func (j *Journal) info(f []logx.Field, format string, args ...any) {
	j.line(zapcore.InfoLevel, f, format, args...)
}
func (j *Journal) warn(f []logx.Field, format string, args ...any) {
	j.line(zapcore.WarnLevel, f, format, args...)
}
func (j *Journal) error(f []logx.Field, format string, args ...any) {
	j.line(zapcore.ErrorLevel, f, format, args...)
}

// line writes a line with the phase and these fields.
func (j *Journal) line(level zapcore.Level, f []logx.Field, format string, args ...any) {
	if level >= j.Log.Level() {
		j.Log.Line(level, fmt.Sprintf(format, args...), append([]logx.Field{logx.Text("phase", j.machine.Phase().String())}, f...)...)
	}
}

// about are the fields of a line about one process.
func about(p proc.Process, f ...logx.Field) []logx.Field {
	return append([]logx.Field{logx.Number("pid", p.PID), logx.Text("comm", p.Comm)}, f...)
}

func (j *Journal) aboutWorker(f ...logx.Field) []logx.Field { return about(j.worker.Process(), f...) }

// of are the fields of a line about a signal.
func of(sig unix.Signal, f ...logx.Field) []logx.Field {
	return append([]logx.Field{logx.Text("signal", signals.Name(sig))}, f...)
}

func (j *Journal) leftSeconds(now time.Time) logx.Field {
	if end, ok := j.machine.GraceEnd(); ok {
		return logx.Seconds("left_s", end.Sub(now))
	}
	return logx.Field{Type: zapcore.SkipType}
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

// Settings are those that differ from the default, for -v.
func (j *Journal) Settings(all string) {
	j.debug(nil, "settings: %s; log level %v, log format %s, pid %d", all, j.Log.Level(), j.Log.Format(), os.Getpid())
}

// Left is what is alive below drainit. Err is why that is not known.
type Left struct {
	All []*proc.Process
	Err error
}

// String counts and names the processes, at most ten.
func (l Left) String() string {
	if l.Err != nil {
		return "what /proc does not show"
	}
	return fmt.Sprintf("%s (%s)", logx.Processes(len(l.All)), l.names())
}

func (l Left) names() string { return logx.List(l.All, (*proc.Process).String) }

func (l Left) count() logx.Field {
	if l.Err != nil {
		return logx.Field{Type: zapcore.SkipType}
	}
	return logx.Number("left", len(l.All))
}
