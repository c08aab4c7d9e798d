// Package journal writes the lines of the loop: every line about a worker and its stop.
//
// It owns the words of these lines, except those of package diag. It also owns which lines appear only once,
// and the notes for drainit status. It reads the machine and the worker. It must never change them, read
// /proc or decide anything.
package journal

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap/zapcore"
	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/internal/worker"
)

// Journal writes the lines of the loop, and remembers the lines that appear only once.
type Journal struct {
	Log     *logx.Log
	Now     time.Time // of the step that the machine makes
	machine *machine.Machine
	worker  *worker.Worker
	said    map[string]bool
	history *forward.History
	exited  bool     // a line says that the worker exited by itself and left something
	noted   int      // how many lines of notes were written
	notes   *os.File // a file in memory (title.Notes), nil for none
}

// New returns a journal that has written no line.
func New(log *logx.Log, m *machine.Machine, w *worker.Worker, h *forward.History) *Journal {
	return &Journal{Log: log, machine: m, worker: w, history: h, said: make(map[string]bool)}
}

// Said reports whether OnceOf has written a line about this event and this thing.
func (j *Journal) Said(m Message, of any) bool { return j.said[fmt.Sprint(m.Event, of)] }

// OnceOf writes a line about an event, unless a line about this event and the same thing was written before.
// Two things are the same if fmt prints them alike.
func (j *Journal) OnceOf(thing any, m Message, args ...any) {
	if !j.Said(m, thing) {
		j.said[fmt.Sprint(m.Event, thing)] = true
		j.Say(m, args...)
	}
}

// Once writes a line, unless it has written one about this event before.
func (j *Journal) Once(m Message, args ...any) { j.OnceOf(nil, m, args...) }

// Say writes a line and returns its words. It returns "" for a line of level debug that the log leaves out.
func (j *Journal) Say(m Message, args ...any) (words string) {
	if m.Level.Level == zapcore.DebugLevel && !j.Log.Enabled(m.Level.Level) { // there may be thousands
		return ""
	}
	words, fields := j.line(m, args)
	j.Log.Line(m.Level.Level, m.Event, words, fields...)
	return words
}

// Note records what was done with a process in a stop, or why nothing was, for drainit status to show
// (title.Notes). It records nothing before a stop, nor after some 10,000 notes, which is more than drainit
// status can show. Without memfd_create(2) the notes are lost.
func (j *Journal) Note(words string, id proc.ID) {
	const most = 10_000
	if j.machine.Phase() < machine.Draining || j.noted > most {
		return
	}
	j.noted++
	at := logx.Round(time.Since(j.StopBegan()))
	j.Publish(id, at+": "+logx.Printable(words))
}

// Publish adds a line to the notes for drainit status (title.Notes).
func (j *Journal) Publish(key, text any) {
	if j.notes == nil {
		fd, _ := unix.MemfdCreate("drainit", unix.MFD_CLOEXEC)
		j.notes = os.NewFile(uintptr(fd), title.Notes)
		_ = j.notes.Chmod(0o600)
	}
	_, _ = fmt.Fprintf(j.notes, "%v:%v\n", key, text)
}

// line returns the words of a line, and its fields. A message has names with $ before them. What stands
// behind | goes to the fields alone. Names that are no facts stand for the arguments, in their order.
func (j *Journal) line(m Message, args []any) (words string, all fields) {
	all.add("phase", j.machine.Phase().String())
	values := make(map[string]any)
	word := func(name string) string {
		value, known := values[name]
		if fact := facts[name]; fact != nil {
			value = fact(j)
		} else if !known && len(args) > 0 {
			value, args = args[0], args[1:]
			values[name] = value
		}
		return all.put(name, value)
	}
	text, more, _ := strings.Cut(m.Text, "|")
	words = os.Expand(text, word)
	os.Expand(more, word)
	if m.Loss != "" {
		all.add("loses", m.Loss)
	}
	return words, all
}

// facts are the names in a message that stand for what the machine and the worker know.
var facts = map[string]func(*Journal) any{
	"worker": func(j *Journal) any { return j.worker.Process() },
	"exit":   func(j *Journal) any { return *j.worker.Exit },
	"reason": func(j *Journal) any { return j.reason() },
	"kill":   func(j *Journal) any { return j.untilKill() },
	"left_s": func(j *Journal) any {
		if left, limited := j.timeLeft(); limited {
			return logx.InTenths(left)
		}
		return nil
	},
}

// fields are those of a line, each of them once.
type fields []logx.Field

func (f *fields) add(key string, value any) {
	if !slices.ContainsFunc(*f, func(other logx.Field) bool { return other.Key == key }) {
		*f = append(*f, logx.Value(key, value))
	}
}

// put adds the fields of a value, and returns its word. Most names are words alone.
func (f *fields) put(name string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case proc.Process:
		if v.PID != 0 {
			f.add("pid", v.PID)
			f.add("comm", logx.Printable(v.Comm))
		}
	case []proc.Process:
		return logx.List(v, proc.Process.String)
	case unix.Signal:
		if v != 0 && (name == "signal" || name == "request") {
			f.add(name, signals.Name(v))
		}
		return signals.Name(v)
	case worker.Exit:
		f.add("status", v.ExitStatus())
	case worker.Reason:
		f.add("reason", v)
	case Living:
		if v.Err == nil {
			f.add("left", len(v.All))
		}
		if name == "states" {
			return f.states(v.All)
		}
	case int, float64: // else it is a pid or a port
		if strings.Contains("status killed left_s duration_s", name) {
			f.add(name, v)
		}
	}
	return fmt.Sprint(value)
}

// states returns the processes with their states, at most ten.
func (f *fields) states(all []*proc.Process) string {
	if len(all) == 0 { // they are ending or hidden from us
		return "what is left"
	}
	f.put("process", *all[0])
	return logx.List(all, logx.WithState)
}

// timeLeft returns the time to SIGKILL.
func (j *Journal) timeLeft() (left time.Duration, limited bool) {
	end, limited := j.machine.GraceEnd()
	return max(0, end.Sub(j.Now)), limited
}

// untilKill says when SIGKILL comes: after the rest of the grace period, at once or never.
func (j *Journal) untilKill() string {
	switch left, limited := j.timeLeft(); {
	case limited:
		return "SIGKILL in " + tenths(left)
	case j.machine.Phase() == machine.Killing:
		return "SIGKILL at once: the grace period is 0"
	}
	return "no SIGKILL: the grace period is infinite"
}

func tenths(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// Living has the living processes below drainit. Err says why they are not known, and is nil if they are.
type Living struct {
	All []*proc.Process
	Err error
}

// String counts and names the processes, at most ten.
func (l Living) String() string {
	if l.Err != nil {
		return "what /proc does not show"
	}
	return fmt.Sprintf("%s (%s)", logx.Processes(len(l.All)), names(l.All))
}

func names(all []*proc.Process) string { return logx.List(all, (*proc.Process).String) }
