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
	"time"

	"drainit/internal/phase"
	"drainit/internal/proc"
)

// The verbs.
const (
	VerbStatus = "status"
	VerbQuiet  = "quiet"
	VerbResume = "resume"
	VerbStop   = "stop"
)

// Verbs are all of them.
var Verbs = []string{VerbStatus, VerbQuiet, VerbResume, VerbStop}

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

// Exit statuses beside 0: the answer is no, and drainit can't be asked.
const statusNo, statusFailed = 1, 125

// instance is the drainit that is asked.
type instance struct {
	drainit
	system
	gone   bool
	stdout io.Writer
	say    func(line error)
}

// Run finds the drainit of this container, asks it, and returns the exit status:
// 0, 1 where the answer is no, 125 where it can't be asked. It calls say with each line for
// people: an error, that there is no answer yet, or with status 0 advice.
func Run(r Request, stdout io.Writer, say func(line error)) (status int) {
	sys := system{proc.Read, new(proc.Reader).All, proc.Cgroups, proc.SameProgram}
	found, err := sys.locate(r.PID)
	d := &instance{drainit: found, system: sys, stdout: stdout, say: say}
	switch {
	case err != nil:
		return d.answer(statusFailed, err)
	case d.is.Phase == phase.Starting && r.Verb != VerbStop:
		return d.answer(statusNo, fmt.Errorf("%s has not started its worker yet", d))
	case r.Verb == VerbStatus:
		return d.status(r)
	case r.Verb == VerbQuiet:
		return d.quiet(r.Sleep)
	case r.Verb == VerbResume:
		return d.resume()
	}
	return d.stop(r)
}

// answer says a line and returns the status.
func (d *instance) answer(status int, line error) int {
	d.say(line)
	return status
}
