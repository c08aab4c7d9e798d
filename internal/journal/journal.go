// Package journal writes the lines of the loop: every sentence that drainit says of a
// worker and its stop.
//
// It owns their words, and what is said once. It reads the machine and the worker; it
// must never change them, read /proc or decide anything.
package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/worker"
)

// Journal writes the lines of the loop, and keeps what is said once.
type Journal struct {
	Log     *logx.Log
	machine *machine.Machine
	worker  *worker.Worker
	said    map[string]bool
	// The first delivery of a stop in words, "" for none, and how many processes were sent one.
	firstStop string
	stopsSent int
	exited    bool // a line says that the worker exited by itself: then its end has one, too
	stuck     bool // not all victims have ended: then the end names none
	// Message is the termination message so far: what the exit status can't say.
	Message string
}

// New returns a journal that has said nothing.
func New(log *logx.Log, m *machine.Machine, w *worker.Worker) *Journal {
	return &Journal{Log: log, machine: m, worker: w, said: make(map[string]bool)}
}

// first reports whether a thing is said for the first time.
func (j *Journal) first(thing string) bool {
	said := j.said[thing]
	j.said[thing] = true
	return !said
}

// once writes a line for the first time only.
func (j *Journal) once(write func(string, ...any) string, format string, args ...any) {
	if j.first(format) {
		write(format, args...)
	}
}

// WriteMessage writes the termination message, if there is one and the file is there for
// it. A file that was asked for and can't be written is worth a warning.
func (j *Journal) WriteMessage(file string) {
	if err := logx.WriteTerminationLog(file, j.Message); err != nil && file != logx.DefaultTerminationLog {
		j.Warn("cannot write the termination message to %s: %v", file, err)
	}
}

// Warn and Error, and debug and info, write a line of that level and return it.
func (j *Journal) Warn(f string, args ...any) string  { return j.line(zapcore.WarnLevel, f, args...) }
func (j *Journal) Error(f string, args ...any) string { return j.line(zapcore.ErrorLevel, f, args...) }
func (j *Journal) info(f string, args ...any) string  { return j.line(zapcore.InfoLevel, f, args...) }
func (j *Journal) debug(f string, args ...any) string { return j.line(zapcore.DebugLevel, f, args...) }

// line writes a line. Its fields are the phase and those of what its words name: of several
// processes or signals, those of the first.
func (j *Journal) line(level zapcore.Level, format string, args ...any) (msg string) {
	if level == zapcore.DebugLevel && !j.Log.Enabled(level) { // there may be thousands
		return ""
	}
	all := []logx.Field{logx.Value("phase", j.machine.Phase().String())}
	for i, arg := range args {
		for _, f := range fieldsOf(arg) {
			if !slices.ContainsFunc(all, func(other logx.Field) bool { return other.Key == f.Key }) {
				all = append(all, f)
			}
		}
		if sig, ok := arg.(unix.Signal); ok {
			args[i] = signals.Name(sig)
		}
	}
	msg = fmt.Sprintf(format, args...)
	j.Log.Line(level, msg, all...)
	return msg
}

func fieldsOf(arg any) []logx.Field {
	switch arg := arg.(type) {
	case *worker.Worker:
		return fieldsOf(arg.Process())
	case proc.Process:
		return []logx.Field{logx.Value("pid", arg.PID), logx.Value("comm", logx.Printable(arg.Comm))}
	case unix.Signal:
		return []logx.Field{logx.Value("signal", signals.Name(arg))}
	case Left:
		return arg.count()
	case phrase:
		return arg.fields
	}
	return nil
}

// phrase is a part of a line that has fields of its own.
type phrase struct {
	words  string
	fields []logx.Field
}

func (p phrase) String() string { return p.words }

// timeLeft is how much of the grace is left.
func (j *Journal) timeLeft(now time.Time) phrase {
	end, limited := j.machine.GraceEnd()
	switch {
	case limited:
		return phrase{"SIGKILL in " + tenths(end.Sub(now)), []logx.Field{logx.Value("left_s", logx.InTenths(end.Sub(now)))}}
	case j.machine.Phase() == phase.Killing:
		return phrase{words: "SIGKILL at once: the grace period is 0"}
	}
	return phrase{words: "no SIGKILL: the grace period is infinite"}
}

func tenths(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// Settings are the flags and variables that were given, for -v.
func (j *Journal) Settings(given []string) {
	j.debug("settings: %s; pid %d", strings.Join(given, " "), os.Getpid())
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
	return fmt.Sprintf("%s (%s)", logx.Processes(len(l.All)), names(l.All))
}

// states is the same with their states.
func (l Left) states() phrase {
	if len(l.All) == 0 { // they are ending or hidden from us
		return phrase{"what is left", l.count()}
	}
	return phrase{logx.List(l.All, logx.WithState), l.count()}
}

func (l Left) count() []logx.Field {
	if l.Err != nil {
		return nil
	}
	return []logx.Field{logx.Value("left", len(l.All))}
}

func names(all []*proc.Process) string { return logx.List(all, (*proc.Process).String) }
