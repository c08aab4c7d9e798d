// Package title publishes drainit's phase as the name of its main thread, which ps shows
// and the subcommands read. The stop, with its times, is the name of its second thread.
//
// It needs no file and no socket, so that it works with a read-only root and in an image that
// holds nothing else.
package title

import (
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// State is what a title says.
type State struct {
	Phase          machine.Phase
	WorkerAlive    bool // or is being killed; while starting, it has been started and is not ready
	WorkerStopped  bool // in state T, while running
	QuietUnhandled bool // no process handled the quiet signal, while quiet
	// Unresumed is 0, or in turn 1 and 2 after each CONT that no quieted process handled, while quiet.
	Unresumed int
}

// Ready reports whether the worker takes work, as far as drainit can know.
func (s State) Ready() bool { return s.Phase == machine.Running && !s.WorkerStopped }

// titles are of 15 bytes at most (PR_SET_NAME(2const)).
var titles = map[string]State{
	"drainit:start":   {Phase: machine.Starting},
	"drainit:startup": {Phase: machine.Starting, WorkerAlive: true},
	"drainit:run":     {Phase: machine.Running, WorkerAlive: true},
	"drainit:stopped": {Phase: machine.Running, WorkerAlive: true, WorkerStopped: true},
	"drainit:quiet":   {Phase: machine.Quiet, WorkerAlive: true},
	"drainit:quiet?":  {Phase: machine.Quiet, WorkerAlive: true, QuietUnhandled: true},
	"drainit:quiet!":  {Phase: machine.Quiet, WorkerAlive: true, Unresumed: 1},
	"drainit:quiet!!": {Phase: machine.Quiet, WorkerAlive: true, Unresumed: 2},
	"drainit:drain":   {Phase: machine.Draining, WorkerAlive: true},
	"drainit:ended":   {Phase: machine.Draining},
	"drainit:kill":    {Phase: machine.Killing, WorkerAlive: true},
}

// Pause is the title of a drainit that runs no worker.
const Pause = "drainit:pause"

// Of returns the title of a state, "" for phase Done. Flags that do not matter in its phase are
// ignored.
func Of(s State) string {
	s.WorkerAlive = s.WorkerAlive || s.Phase != machine.Draining && s.Phase != machine.Starting
	s.WorkerStopped = s.WorkerStopped && s.Phase == machine.Running
	s.QuietUnhandled = s.QuietUnhandled && s.Phase == machine.Quiet
	if s.Phase != machine.Quiet || s.QuietUnhandled {
		s.Unresumed = 0
	}
	for title, state := range titles {
		if state == s {
			return title
		}
	}
	return ""
}

// Parse reads a title. ok is false if it is not one of drainit's.
func Parse(title string) (s State, ok bool) {
	s, ok = titles[title]
	return s, ok
}

// Set names the calling thread, which must be the main one. If that fails, the subcommands find no
// drainit.
func Set(title string) {
	name := append([]byte(title), 0)
	_ = unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0)
}

// Stop is the stop that drainit is in.
type Stop struct {
	Signal unix.Signal   // the first that requested it; 0 where the worker ended by itself
	Since  time.Duration // after boot
	Grace  time.Duration // from Since to SIGKILL, or machine.Forever
}

// Times are in tenths of a second, in base 36, since a name has room for 15 bytes: enough for a
// grace of a week until six years after boot.
const (
	unit = time.Second / 10
	base = 36
	bits = 36 // 217 years; a Duration has 292
)

// String returns SIGNAL@SINCE+GRACE, such as "15@hn6o0+9q" for SIGTERM and a grace of 35 s. +GRACE is missing
// if the grace never ends.
func (s Stop) String() string {
	text := strconv.Itoa(int(s.Signal)) + "@" + strconv.FormatInt(int64(s.Since/unit), base)
	if s.Grace != machine.Forever {
		text += "+" + strconv.FormatInt(int64(s.Grace/unit), base)
	}
	return text
}

// ParseStop parses what Stop.String returns. ok is false for any other text.
func ParseStop(name string) (s Stop, ok bool) {
	signal, times, _ := strings.Cut(name, "@")
	since, grace, ends := strings.Cut(times, "+")
	sig, err := strconv.ParseUint(signal, 10, 7)
	s = Stop{unix.Signal(sig), parse(since), machine.Forever}
	if ends {
		s.Grace = parse(grace)
	}
	return s, err == nil && s.Since >= 0 && s.Grace >= 0
}

// parse parses a time as Stop.String writes it. It returns -1 for an invalid one.
func parse(text string) time.Duration {
	n, err := strconv.ParseUint(text, base, bits)
	if err != nil {
		return -1
	}
	return time.Duration(n) * unit
}

// Worker is the beginning of the second thread's name before a stop. The worker's pid follows. Notes is the
// name by which /proc shows drainit's file in memory. Its lines are ID:TIME: WORDS: what was decided about a
// process in a stop, and when.
const (
	Worker = "worker:"
	Notes  = "/memfd:drainit (deleted)"
)

// SetThread names one of drainit's threads.
func SetThread(tid int, name string) {
	_ = os.WriteFile("/proc/self/task/"+strconv.Itoa(tid)+"/comm", []byte(name), 0)
}
