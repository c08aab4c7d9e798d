package inspect

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
)

// stopping is the stop that an instance is in.
type stopping struct {
	title.Stop
	known bool          // it says so
	now   time.Duration // after boot
}

// readStop reads the stop from the names of drainit's threads. One that another has begun
// with is that of the thread which started it: the newest counts.
func (d *instance) readStop() (s stopping) {
	if d.phase() < phase.Draining {
		return s
	}
	names, _ := proc.ThreadNames(d.PID) // what is not known is not shown
	return newestStop(names, proc.SinceBoot())
}

func newestStop(names []string, now time.Duration) (s stopping) {
	s.now = now
	for _, name := range names {
		if stop, ok := title.ParseStop(name); ok && stop.Since <= now && (!s.known || stop.Since > s.Since) {
			s.Stop, s.known = stop, true
		}
	}
	return s
}

// ago is how long the stop has lasted.
func (s stopping) ago() time.Duration { return s.now - s.Since }

// left is the time until SIGKILL. ok is false where none is due.
func (s stopping) left(p phase.Phase) (left time.Duration, ok bool) {
	return max(0, s.Grace-s.ago()), s.known && s.Grace != machine.Forever && p == phase.Draining
}

// word is the phase for people.
func (d *instance) word() string {
	if s := d.state(); s.WorkerStopped {
		return s.Phase.String() + ", but the worker is stopped"
	}
	return d.phase().String()
}

// text is the status for people.
func (d *instance) text(s stopping) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, ", d.word(), d.label())
	if !d.state().WorkerAlive {
		b.WriteString("the worker has ended, ")
	}
	if s.known && s.Signal != 0 {
		fmt.Fprintf(&b, "%s %s ago, ", signals.Name(s.Signal), tenths(s.ago()))
	}
	if left, ok := s.left(d.phase()); ok {
		fmt.Fprintf(&b, "SIGKILL in %s, ", tenths(left))
	}
	fmt.Fprintf(&b, "%s below it\n", logx.Processes(len(d.descendants)))
	if len(d.descendants) > 0 {
		fmt.Fprintf(&b, "%7s %7s STATE %8s COMMAND\n", "PID", "PPID", "AGE")
	}
	for _, p := range d.descendants {
		fmt.Fprintf(&b, "%7d %7d %-5c %8s %s\n", p.PID, p.PPID, p.State, logx.Round(p.Age()), logx.Printable(p.Comm))
	}
	return b.String()
}

// tenths is a time in seconds as people compare it to a grace.
func tenths(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// statusJSON is the status for programs, in one line.
type statusJSON struct {
	Phase         string        `json:"phase"` // running, quiet, draining or killing
	Ready         bool          `json:"ready"` // running, and the worker is not stopped
	WorkerAlive   bool          `json:"worker_alive"`
	WorkerStopped bool          `json:"worker_stopped,omitempty"`
	QuietHandled  *bool         `json:"quiet_handled,omitempty"` // in quiet
	StopSignal    string        `json:"stop_signal,omitempty"`
	StoppingSince string        `json:"stopping_since,omitempty"` // RFC 3339, UTC
	Left          *float64      `json:"left_s,omitempty"`         // to SIGKILL
	PID           int           `json:"pid"`                      // drainit's
	Processes     []processJSON `json:"processes"`
}

type processJSON struct {
	PID   int     `json:"pid"`
	PPID  int     `json:"ppid"`
	Comm  string  `json:"comm"`  // what is not printable is escaped, as in the log
	State string  `json:"state"` // a letter of proc(5)
	Age   float64 `json:"age_s"`
}

// json is the status for programs. wall is the time at which s was read.
func (d *instance) json(s stopping, wall time.Time) string {
	is := d.state()
	out := statusJSON{Phase: is.Phase.String(), Ready: d.ready(), WorkerAlive: is.WorkerAlive, WorkerStopped: is.WorkerStopped, PID: d.PID, Processes: []processJSON{}}
	if is.Phase == phase.Quiet {
		handled := !is.QuietUnhandled
		out.QuietHandled = &handled
	}
	if s.known {
		out.StoppingSince = wall.Add(-s.ago()).UTC().Format("2006-01-02T15:04:05.0Z")
	}
	if s.known && s.Signal != 0 {
		out.StopSignal = signals.Name(s.Signal)
	}
	if left, ok := s.left(is.Phase); ok {
		seconds := inTenths(left)
		out.Left = &seconds
	}
	for _, p := range d.descendants {
		out.Processes = append(out.Processes, processJSON{p.PID, p.PPID, logx.Printable(p.Comm), string(p.State), inTenths(p.Age())})
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(err) // numbers and strings only
	}
	return string(b) + "\n"
}

// inTenths is a time in seconds, to a tenth.
func inTenths(d time.Duration) float64 { return math.Round(d.Seconds()*10) / 10 }

// ready reports whether new work is welcome.
func (d *instance) ready() bool {
	s := d.state()
	return s.Phase == phase.Running && !s.WorkerStopped
}
