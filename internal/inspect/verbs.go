// Package inspect has the subcommands, which ask a running drainit. They need no shell, socket or file, only
// /proc and kill(2).
//
// It runs in a process of its own, or in that of a rehearsal. It must signal no process but the
// drainit that it has found. A second stop signal must be sent only on request, since it would kill.
package inspect

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/reaper"
	"drainit/supervisor"
)

// The subcommands.
const (
	VerbStatus = "status"
	VerbQuiet  = "quiet"
	VerbResume = "resume"
	VerbStop   = "stop"
)

// Verbs has all subcommands.
var Verbs = []string{VerbStatus, VerbQuiet, VerbResume, VerbStop}

// Request is a subcommand with its flags.
type Request struct {
	Verb  string
	Ready bool          // status: 0 only if the worker takes work
	JSON  bool          // status: for programs
	Plan  bool          // status: show what a stop would do
	Sleep time.Duration // quiet: how long to wait once it is quiet
	Force bool          // stop: kill
	Wait  bool          // stop: return when drainit has ended
	PID   int           // the drainit to ask; 0 to find it
}

// Exit statuses beside 0: the answer is no, or drainit can't be asked.
const statusNo, statusFailed = 1, 125

// instance is the drainit that is asked.
type instance struct {
	drainit
	system
	gone   bool
	stdout io.Writer
	say    func(line error)
	config ConfigOf
}

// ConfigOf returns the settings of a drainit. With an error it returns those that could be read.
type ConfigOf func(pid int) (supervisor.Config, error)

// Run finds the drainit of this container, asks it, and returns the exit status: 0, 1 if the answer is no,
// 125 if it cannot be asked. It calls say with each line for people.
func Run(r Request, stdout io.Writer, say func(line error), config ConfigOf) (status int) {
	d := &instance{system: linux(), stdout: stdout, say: say, config: config}
	found, err := d.locate(r.PID)
	d.drainit = found
	switch {
	case err != nil:
		return d.answer(statusFailed, "%w", err)
	case d.is == title.State{} && r.Verb != VerbStop:
		return d.answer(statusNo, "%s has not started its worker yet", d)
	case r.Verb == VerbStatus:
		return d.status(r)
	case r.Verb == VerbQuiet:
		return d.quiet(r.Sleep)
	case r.Verb == VerbResume:
		return d.resume()
	}
	return d.stop(r)
}

func (d *instance) sayf(format string, args ...any) { d.say(fmt.Errorf(format, args...)) }

// answer says a line, and returns the exit status that it is given.
func (d *instance) answer(status int, format string, args ...any) int {
	d.sayf(format, args...)
	return status
}

// quiet sends the quiet signal, and waits until drainit is quiet. Then it waits for sleep more, as a preStop
// hook does to let load balancers notice.
func (d *instance) quiet(sleep time.Duration) (status int) {
	if d.is.Phase > machine.Quiet {
		return d.answer(0, "%s is %s already: nothing to quiet", d, d.is.Phase)
	}
	quieted := func(is title.State) bool {
		return is.Phase > machine.Quiet || is.Phase == machine.Quiet && is.Quiet < title.Unresumed
	}
	if status = d.signalUntil(unix.SIGTSTP, quieted); status != 0 {
		return status
	}
	end := time.Now().Add(sleep)
	d.watch(func(int) bool { return !time.Now().Before(end) })
	switch d.is.Quiet {
	case title.Unknown:
		return d.answer(statusNo, "quiet has no effect: which processes handle SIGTSTP is not known")
	case title.Unhandled:
		const advice = "If it uses another signal for this: --rewrite TSTP:SIG"
		d.sayf("quiet has no effect: no process handles SIGTSTP, and the worker keeps taking work. " + advice)
	}
	return 0
}

func (d *instance) resume() (status int) {
	if before := d.is.Quiet; d.is.Phase <= machine.Quiet {
		status = d.signalUntil(unix.SIGCONT, func(is title.State) bool {
			return is.Phase != machine.Quiet || is.Quiet != before
		})
	}
	switch {
	case d.is.Phase > machine.Quiet: // or a stop came before the resume
		const words = "%s is %s: a worker that was sent the stop signal can't be resumed"
		return d.answer(statusNo, words, d, d.is.Phase)
	case status == 0 && !d.gone && d.is.Quiet >= title.Unresumed:
		const advice = "If the worker uses another signal for this: --rewrite CONT:SIG; else restart it"
		return d.answer(statusNo, "still quiet: no process that was quieted handles SIGCONT. "+advice)
	}
	return status
}

// stop sends the stop signal to a drainit that is not stopping yet. If it is stopping already, stop prints
// its status. With Force drainit kills at once, and with Wait stop returns when drainit has ended.
func (d *instance) stop(r Request) (status int) {
	switch {
	case r.Force:
		killing := func(is title.State) bool { return is.Phase == machine.Killing }
		status = d.signalUntil(signals.ForceStop, killing)
	case d.is.Phase <= machine.Quiet:
		status = d.signal(unix.SIGTERM)
	case d.status(Request{}) == statusFailed: // it prints the status
		return statusFailed
	case !r.Wait:
		d.sayf("already stopping; drainit stop --force kills what is left")
	}
	if r.Wait && status == 0 {
		d.watch(func(int) bool { return false })
	}
	return status
}

// signal sends drainit a signal, and returns the exit status of the subcommand. If drainit has ended before,
// signal sets gone and returns 0.
func (d *instance) signal(sig unix.Signal) (status int) {
	var err error
	if d.PID == 1 {
		err = reaper.SignalInit(sig)
	} else {
		err = reaper.Signal(d.ID, sig, d.read)
	}
	switch {
	case errors.Is(err, reaper.ErrGone):
		d.gone = true
	case errors.Is(err, unix.EPERM):
		const advice = "ask as that user, as root, or with CAP_KILL"
		return d.answer(statusFailed, "not permitted: %s runs as another user; "+advice, d)
	case err != nil:
		return d.answer(statusFailed, "cannot signal %s: %w", d, err)
	}
	return 0
}

// signalUntil sends drainit a signal, and returns 0 once acted reports from its title that it has acted upon
// that, or once it has ended. It gives up after a number of looks and not after a time: a busy machine keeps
// drainit from acting, too.
func (d *instance) signalUntil(sig unix.Signal, acted func(title.State) bool) (status int) {
	const most = 125 // looks take 10 s
	if status = d.signal(sig); status != 0 {
		return status
	}
	d.watch(func(looks int) bool {
		return looks > 0 && acted(d.is) || looks == most || d.Stopped() && looks >= most/5
	})
	switch {
	case d.gone || acted(d.is):
		return 0
	case d.Stopped():
		const words = "%s was sent %s and can't see it: it is stopped itself (SIGSTOP, or Ctrl-Z)"
		return d.answer(statusNo, words, d, signals.Name(sig))
	}
	const words = "%s was sent %s and is still %s; is it rewritten (--rewrite), or the machine busy?"
	return d.answer(statusNo, words, d, signals.Name(sig), d.is.Phase)
}

// watch looks at drainit until it has ended, or until done returns true, which is asked after each number of
// looks. It looks ever more rarely, since under a CPU limit each look slows drainit down.
func (d *instance) watch(done func(looks int) bool) {
	for looks := 0; !d.gone && !done(looks); looks++ {
		time.Sleep(min(time.Duration(2*looks+1), 100) * time.Millisecond)
		now, err := d.look(d.PID)
		d.gone = proc.IsGone(err) || err == nil && now.ID != d.ID
		if err == nil && !d.gone {
			d.drainit = now
		}
	}
}
