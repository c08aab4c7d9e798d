// Package inspect is the verbs: what a drainit that is called beside a running one can
// ask it. They need neither a shell nor a socket nor a file, only /proc and kill(2).
//
// It owns nothing and runs in a process of its own. It must never send a signal to
// anything but the drainit that it has found, nor a second stop signal unasked: that
// would kill.
package inspect

import (
	"fmt"
	"io"
	"slices"
	"time"

	"drainit/internal/phase"
)

// The verbs.
const (
	VerbStatus = "status"
	VerbQuiet  = "quiet"
	VerbResume = "resume"
	VerbStop   = "stop"
)

// Verbs are all of them.
var Verbs = [...]string{VerbStatus, VerbQuiet, VerbResume, VerbStop}

// IsVerb reports whether a word is a verb.
func IsVerb(word string) bool { return slices.Contains(Verbs[:], word) }

// Request is a verb with its flags.
type Request struct {
	Verb  string
	Ready bool          // status: 0 only when running
	JSON  bool          // status: for programs
	Sleep time.Duration // quiet: how long to wait when it is quiet
	Force bool          // stop: kill
	Wait  bool          // stop: return when drainit has ended
	PID   int           // of the drainit that is meant; 0 where there is only one
}

// mayList reports whether the answer may have the processes in it.
func (r Request) mayList() bool {
	return r.Verb == VerbStatus && (!r.Ready || r.JSON) || r.Verb == VerbStop && !r.Force
}

// lateAfter is how long after its signal a verb says that it still waits: with its own start
// mostly less than a second, under a CPU limit of 10m too.
const lateAfter = 300 * time.Millisecond

// Exit statuses of the verbs.
const (
	statusOK     = 0
	statusNo     = 1   // the answer is no
	statusFailed = 125 // drainit can't be asked
)

// Run finds the drainit of this container, asks it, and returns the exit status:
// 0, 1 where the answer is no, 125 where it can't be asked. The error is for people, and
// may come with any of these. late is called, at most once, with the line
// that there is no answer yet.
func Run(r Request, stdout io.Writer, late func(notice error)) (status int, err error) {
	d, err := locate(r.PID, r.mayList())
	if err != nil {
		return statusFailed, err
	}
	d.late = late
	if d.phase() == phase.Starting && r.Verb != VerbStop {
		return statusNo, fmt.Errorf("%s has not started its worker yet", d.label())
	}
	switch r.Verb {
	case VerbStatus:
		return d.printStatus(stdout, r)
	case VerbQuiet:
		return d.quiet(r.Sleep)
	case VerbResume:
		return d.resume()
	}
	return d.end(stdout, r)
}

func (d *instance) printStatus(stdout io.Writer, r Request) (status int, err error) {
	text := ""
	switch {
	case r.JSON:
		text = d.json(d.readStop(), time.Now())
	case r.Ready: // one that changes with the phase only: each other one is a new event to Kubernetes
		text = d.word() + "\n"
	default:
		text = d.text(d.readStop())
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return statusFailed, err
	}
	if !d.state().WorkerAlive || r.Ready && !d.ready() {
		return statusNo, nil
	}
	return statusOK, nil
}
