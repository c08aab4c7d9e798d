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

// Said reports whether a line about this event and this thing was written, by OnceOf or for several things.
func (j *Journal) Said(m Message, of any) bool { return j.said[fmt.Sprint(m.Event, of)] }

func (j *Journal) markSaid(m Message, of any) { j.said[fmt.Sprint(m.Event, of)] = true }

// OnceOf writes a line about an event, unless a line about this event and the same thing was written before.
// Two things are the same if fmt prints them alike.
func (j *Journal) OnceOf(thing any, m Message, args ...any) {
	if !j.Said(m, thing) {
		j.markSaid(m, thing)
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

// line returns the words of a line and its fields: the phase, and the fields of its arguments. If several
// arguments have the same field, that of the first counts. Arguments that the words do not name go to the
// fields alone.
func (j *Journal) line(m Message, args []any) (words string, all fields) {
	all.add("phase", j.machine.Phase().String())
	j.addFields(&all, args)
	if m.Loss != "" {
		all.add("loses", m.Loss)
	}
	named := slices.Clone(args[:min(len(args), strings.Count(m.Text, "%"))])
	for i, arg := range named {
		switch arg := arg.(type) {
		case unix.Signal:
			named[i] = signals.Name(arg)
		case []proc.Process:
			named[i] = logx.List(arg, proc.Process.String)
		}
	}
	return fmt.Sprintf(m.Text, named...), all
}

// fields are those of a line, each of them once.
type fields []logx.Field

func (f *fields) add(key string, value any) {
	if !slices.ContainsFunc(*f, func(other logx.Field) bool { return other.Key == key }) {
		*f = append(*f, logx.Value(key, value))
	}
}

func (j *Journal) addFields(to *fields, args []any) {
	for _, arg := range args {
		switch arg := arg.(type) {
		case interface{ Process() proc.Process }:
			j.addFields(to, []any{arg.Process()})
		case proc.Process:
			to.add("pid", arg.PID)
			to.add("comm", logx.Printable(arg.Comm))
		case unix.Signal:
			to.add("signal", signals.Name(arg))
		case Came:
			to.add("request", arg.String())
		case Status:
			to.add("status", arg)
		case worker.Exit:
			if to.add("status", arg.ExitStatus()); arg.TermSignal() != 0 {
				to.add("signal", signals.Name(arg.TermSignal()))
			}
		case worker.Reason:
			to.add("reason", arg)
		case fact:
			to.add("reason", j.reason())
			if arg == WorkersEnd {
				to.add("status", j.worker.Exit.ExitStatus())
			}
		case Living:
			if arg.Err == nil {
				to.add("left", len(arg.All))
			}
		case Phrase:
			j.addFields(to, arg.of)
		case field:
			to.add(arg.key, arg.value)
		}
	}
}

// Came is a signal that came to drainit. In a line, a unix.Signal is one that was sent.
type Came unix.Signal

func (c Came) String() string { return signals.Name(unix.Signal(c)) }

// Status is an exit status.
type Status int

// fact stands for fields of a line that the machine and the worker know.
type fact uint8

// The facts of a line about an end.
const (
	Reason     fact = iota // why the worker ended, or is killed
	WorkersEnd             // the same, and the worker's exit status
)

// field is a field of a line that no type of its own stands for.
type field struct {
	key   string
	value any
}

// Phrase is a part of a line. of has the arguments of which the line gets the fields.
type Phrase struct {
	words string
	of    []any
}

func (p Phrase) String() string { return p.words }

// TimeLeft says when SIGKILL comes: after the rest of the grace period, at once or never.
func (j *Journal) TimeLeft(now time.Time) Phrase {
	end, limited := j.machine.GraceEnd()
	switch left := max(0, end.Sub(now)); {
	case limited:
		return Phrase{"SIGKILL in " + tenths(left), []any{field{"left_s", logx.InTenths(left)}}}
	case j.machine.Phase() == machine.Killing:
		return Phrase{words: "SIGKILL at once: the grace period is 0"}
	}
	return Phrase{words: "no SIGKILL: the grace period is infinite"}
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

// states names the processes with their states, at most ten.
func (j *Journal) states(l Living) Phrase {
	if len(l.All) == 0 { // they are ending or hidden from us
		return Phrase{"what is left", []any{l}}
	}
	return Phrase{logx.List(l.All, logx.WithState), []any{l, *l.All[0]}}
}

func names(all []*proc.Process) string { return logx.List(all, (*proc.Process).String) }
