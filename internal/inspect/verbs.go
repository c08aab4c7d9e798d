// Package inspect has the subcommands, which ask a running drainit. They need no shell, socket or file, only
// /proc and kill(2).
//
// It runs in a process of its own, except for drainit plan, which asks itself. It must never signal any process
// but the drainit that it has found. It must send a second stop signal only on request: that would kill.
package inspect

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
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
	Ready bool          // status: 0 only in phase running
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
	config func(pid int) (supervisor.Config, error) // reads what a drainit was asked for, as far as it may
}

// Run finds the drainit of this container, asks it, and returns the exit status: 0, 1 if the answer is no, 125
// if it cannot be asked. It calls say with each line for people.
func Run(r Request, stdout io.Writer, say func(line error), config func(pid int) (supervisor.Config, error)) (status int) {
	sys := linux()
	found, err := sys.locate(r.PID)
	d := &instance{drainit: found, system: sys, stdout: stdout, say: say, config: config}
	switch {
	case err != nil:
		return d.answer(statusFailed, err)
	case d.is == title.State{} && r.Verb != VerbStop:
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

func (d *instance) answer(status int, line error) int {
	d.say(line)
	return status
}

// quiet sends the quiet signal, and then waits as a preStop hook wants it, for load balancers to
// notice.
func (d *instance) quiet(sleep time.Duration) (status int) {
	if d.is.Phase > machine.Quiet {
		return d.answer(0, fmt.Errorf("%s is %s already: nothing to quiet", d, d.is.Phase))
	}
	if status := d.signalUntil(unix.SIGTSTP, func(p machine.Phase) bool { return p > machine.Running }); status != 0 {
		return status
	}
	d.sleep(sleep)
	if d.is.QuietUnhandled {
		d.say(errors.New("quiet has no effect: no process handles SIGTSTP, and the worker keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG"))
	}
	return 0
}

func (d *instance) resume() (status int) {
	if d.is.Phase <= machine.Quiet {
		status = d.signalUntil(unix.SIGCONT, func(p machine.Phase) bool { return p != machine.Quiet })
	}
	if d.is.Phase > machine.Quiet { // or a stop came before the resume
		return d.answer(statusNo, fmt.Errorf("%s is %s: a worker that was sent the stop signal can't be resumed", d, d.is.Phase))
	}
	return status
}

// stop sends the stop signal to a drainit that is not stopping yet; a forced one kills.
func (d *instance) stop(r Request) (status int) {
	switch {
	case r.Force:
		title.SetThread(proc.SecondThread(os.Getpid()), title.Forced+strconv.Itoa(d.PID))
		title.Set(title.Force)
		status = d.signalUntil(signals.ForceStop, func(p machine.Phase) bool { return p == machine.Killing })
	case d.is.Phase <= machine.Quiet:
		status = d.signal(unix.SIGTERM)
	case d.status(Request{}) == statusFailed: // it prints the status
		return statusFailed
	case !r.Wait:
		d.say(errors.New("already stopping; drainit stop --force kills what is left"))
	}
	for r.Wait && status == 0 && !d.gone {
		d.sleep(time.Minute)
	}
	return status
}

// signal sends drainit a signal, unless it has ended.
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
		return d.answer(statusFailed, fmt.Errorf("not permitted: %s runs as another user; ask as that user, as root, or with CAP_KILL", d))
	case err != nil:
		return d.answer(statusFailed, fmt.Errorf("cannot signal %s: %w", d, err))
	}
	return 0
}

// signalUntil sends drainit a signal, and returns once its phase shows that it has acted upon that, or it
// has ended. It looks ever more rarely, since under a CPU limit each look slows drainit down. It gives up
// after a number of looks and not after a time: a busy machine keeps drainit from acting, too.
func (d *instance) signalUntil(sig unix.Signal, acted func(machine.Phase) bool) (status int) {
	const slowest, most = 50 * time.Millisecond, 210 // looks take 10 s
	began := time.Now()
	if status = d.signal(sig); status != 0 {
		return status
	}
	for look := range most {
		time.Sleep(min(time.Millisecond+time.Since(began)/2, slowest))
		d.refresh()
		switch {
		case d.gone || acted(d.is.Phase):
			return 0
		case d.Stopped() && look >= most/5:
			return d.answer(statusNo, fmt.Errorf("%s was sent %s and can't see it: it is stopped itself (SIGSTOP, or Ctrl-Z)", d, signals.Name(sig)))
		}
	}
	return d.answer(statusNo, fmt.Errorf("%s was sent %s and is still %s; is it rewritten (--rewrite), or the machine busy?", d, signals.Name(sig), d.is.Phase))
}

func (d *instance) refresh() {
	now, err := d.look(d.PID)
	d.gone = proc.IsGone(err) || err == nil && now.ID != d.ID
	if err == nil && !d.gone {
		d.drainit = now
	}
}

// sleep waits, or until drainit has ended.
func (d *instance) sleep(atMost time.Duration) {
	for until := time.Now().Add(atMost); !d.gone && time.Now().Before(until); d.refresh() {
		time.Sleep(min(time.Until(until), 100*time.Millisecond))
	}
}
