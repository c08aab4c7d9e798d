// Package inspect is the verbs: what a drainit that is called beside a running one can
// ask it. They need neither a shell nor a socket nor a file, only /proc and kill(2).
//
// It owns nothing and runs in a process of its own. It must never send a signal to
// anything but the drainit that it has found, nor a second stop signal unasked: that
// would kill.
package inspect

import (
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
}

// Exit statuses of the verbs.
const (
	statusOK     = 0
	statusNo     = 1   // the answer is no
	statusFailed = 125 // drainit can't be asked
)

// Run finds the drainit of this container, asks it, and returns the exit status:
// 0, 1 where the answer is no, 125 where it can't be asked. The error is for people, and
// may come with any of these.
func Run(r Request, stdout io.Writer) (status int, err error) {
	d, err := locate()
	if err != nil {
		return statusFailed, err
	}
	switch r.Verb {
	case VerbStatus:
		return d.printStatus(stdout, r)
	case VerbQuiet:
		return d.quiet(r.Sleep)
	case VerbResume:
		return d.resume()
	}
	if r.Force {
		return d.forceStop()
	}
	return d.stop(stdout)
}

func (d instance) printStatus(stdout io.Writer, r Request) (status int, err error) {
	text := d.text()
	if r.JSON {
		text = d.json()
	}
	if _, err := io.WriteString(stdout, text); err != nil {
		return statusFailed, err
	}
	if !d.workerAlive() || r.Ready && d.phase() != phase.Running {
		return statusNo, nil
	}
	return statusOK, nil
}
