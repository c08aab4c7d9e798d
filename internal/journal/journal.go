// Package journal writes the lines of the loop: every line about a worker and its stop.
//
// It owns their words, which lines appear only once, and the notes for drainit status. It reads the machine
// and the worker. It must never change them, read /proc or decide anything.
package journal

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"time"

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
	Log       *logx.Log
	machine   *machine.Machine
	worker    *worker.Worker
	said      map[string]bool
	strangers map[proc.ID]bool // that did not come from the worker
	waiting   map[int]waits    // by pid, the children that were not signalled so far, and may be at any time
	// The first delivery of a stop, the zero one for none, and how many processes were sent one.
	firstStop forward.Delivery
	stopsSent int
	exited    bool          // a line says that the worker exited by itself and left something
	file      string        // for the termination message, "" for none
	noted     int           // lines of notes
	notes     *bufio.Writer // to a file in memory (title.Notes), nil for none
	// Message is the termination message so far: what the exit status can't say.
	Message string
}

// New returns a journal that has written no line.
func New(log *logx.Log, m *machine.Machine, w *worker.Worker, file string) *Journal {
	return &Journal{Log: log, machine: m, worker: w, said: make(map[string]bool), strangers: make(map[proc.ID]bool), waiting: make(map[int]waits), file: file}
}

// first reports whether a thing is said for the first time.
func (j *Journal) first(thing string) bool {
	said := j.said[thing]
	j.said[thing] = true
	return !said
}

// Once writes a line for the first time only.
func (j *Journal) Once(m Message, args ...any) {
	if j.first(m.text) {
		j.Say(m, args...)
	}
}

// Say writes a line and returns its words.
func (j *Journal) Say(m Message, args ...any) (words string) {
	if m.level == atDebug && !j.Log.Enabled(atDebug) { // there may be thousands
		return ""
	}
	words, fields := j.line(m, args)
	j.Log.Line(m.level, m.event, words, fields...)
	return words
}

// last writes the last line of a life. Before it goes the termination message, which is the same if told is
// set. A file that was asked for and can't be written is worth a warning.
func (j *Journal) last(m Message, told bool, args ...any) {
	words, fields := j.line(m, args)
	if told {
		j.Message = words
	}
	if err := logx.WriteTerminationLog(j.file, j.Message); err != nil && j.file != logx.DefaultTerminationLog {
		j.Say(messageFailed, j.file, err)
	}
	j.Log.Line(m.level, m.event, words, fields...)
}

// Note notes what was done with some processes in a stop, or why nothing was (title.Notes). It is for
// drainit status: not more than that can show, and where there are no such files nothing.
func (j *Journal) Note(words string, these ...proc.ID) {
	const most = 10_000
	if j.machine.Phase() < machine.Draining || j.noted > most {
		return
	}
	j.noted += len(these)
	if j.notes == nil {
		fd, _ := unix.MemfdCreate("drainit", unix.MFD_CLOEXEC)
		j.notes = bufio.NewWriter(os.NewFile(uintptr(fd), title.Notes))
	}
	line := fmt.Sprintf(":%s: %s\n", logx.Round(time.Since(j.StopBegan())), logx.Printable(words))
	for _, id := range these {
		_, _ = fmt.Fprintf(j.notes, "%v%s", id, line)
	}
	_ = j.notes.Flush()
}

// line returns the words of a line and its fields: the phase, those of what the words name (of several
// processes or signals, those of the first), and those among args, which are not in the words.
func (j *Journal) line(m Message, args []any) (words string, all []logx.Field) {
	all = []logx.Field{logx.Value("phase", j.machine.Phase().String())}
	var named []any
	for _, arg := range args {
		for _, f := range fieldsOf(arg) {
			if !slices.ContainsFunc(all, func(other logx.Field) bool { return other.Key == f.Key }) {
				all = append(all, f)
			}
		}
		switch arg := arg.(type) {
		case unix.Signal:
			named = append(named, signals.Name(arg))
		case []logx.Field:
		default:
			named = append(named, arg)
		}
	}
	return fmt.Sprintf(m.text, named...), all
}

// Came is a signal that came to drainit, where others are those that were sent.
type Came unix.Signal

func (c Came) String() string { return signals.Name(unix.Signal(c)) }

func fieldsOf(arg any) []logx.Field {
	switch arg := arg.(type) {
	case *worker.Worker:
		return fieldsOf(arg.Process())
	case proc.Process:
		return []logx.Field{logx.Value("pid", arg.PID), logx.Value("comm", logx.Printable(arg.Comm))}
	case unix.Signal:
		return []logx.Field{logx.Value("signal", signals.Name(arg))}
	case Came:
		return []logx.Field{logx.Value("request", arg.String())}
	case Living:
		return arg.count()
	case []logx.Field:
		return arg
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

// timeLeft is the rest of the grace period.
func (j *Journal) timeLeft(now time.Time) phrase {
	end, limited := j.machine.GraceEnd()
	switch {
	case limited:
		return phrase{"SIGKILL in " + tenths(end.Sub(now)), []logx.Field{logx.Value("left_s", logx.InTenths(end.Sub(now)))}}
	case j.machine.Phase() == machine.Killing:
		return phrase{words: "SIGKILL at once: the grace period is 0"}
	}
	return phrase{words: "no SIGKILL: the grace period is infinite"}
}

func tenths(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }

// Living has the living processes below drainit. Err is why they are not known.
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

// states is the same with their states.
func (j *Journal) states(l Living) phrase {
	if len(l.All) == 0 { // they are ending or hidden from us
		return phrase{"what is left", l.count()}
	}
	return phrase{logx.List(l.All, j.marked(logx.WithState)), append(l.count(), fieldsOf(*l.All[0])...)}
}

func (l Living) count() []logx.Field {
	if l.Err != nil {
		return nil
	}
	return []logx.Field{logx.Value("left", len(l.All))}
}

func names(all []*proc.Process) string { return logx.List(all, (*proc.Process).String) }

// NotTheWorkers notes processes that did not come from the worker.
func (j *Journal) NotTheWorkers(these []*proc.Process) {
	for _, p := range these {
		j.strangers[p.ID] = true
		j.Note(Stranger, p.ID)
	}
}

// Stranger says of a process that it did not come from the worker.
const Stranger = "not started by the worker (docker exec?)"

// marked describes a process, and says so of one that did not come from the worker.
func (j *Journal) marked(describe func(*proc.Process) string) func(*proc.Process) string {
	return func(p *proc.Process) string {
		if j.strangers[p.ID] {
			return describe(p) + ", " + Stranger
		}
		return describe(p)
	}
}
