package inspect

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/reaper"
)

// quiet is the quiet signal, and the wait that a preStop hook wants: load
// balancers and queues look away meanwhile.
func (d *instance) quiet(sleep time.Duration) (status int) {
	if d.is.Phase > phase.Quiet {
		return d.answer(0, fmt.Errorf("%s is %s already: nothing to quiet", d, d.is.Phase))
	}
	if status := d.signalUntil(unix.SIGTSTP, 0, func(p phase.Phase) bool { return p != phase.Running }); status != 0 {
		return status
	}
	d.sleep(sleep)
	if d.is.QuietUnhandled {
		d.say(errors.New("quiet has no effect: no process handles SIGTSTP, and the worker keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG"))
	}
	return 0
}

func (d *instance) resume() (status int) {
	if d.is.Phase <= phase.Quiet {
		status = d.signalUntil(unix.SIGCONT, 0, func(p phase.Phase) bool { return p != phase.Quiet })
	}
	if d.is.Phase > phase.Quiet { // or a stop came before the resume
		return d.answer(statusNo, fmt.Errorf("%s is %s: a worker that was sent the stop signal can't be resumed", d, d.is.Phase))
	}
	return status
}

// stop never sends a second stop signal unless that is asked for: it would kill. A force-stop
// takes several: the first may begin the drain, and one too soon after it counts as the same
// request. A drainit that ignores repeated ones knows by the verb's name that these are meant.
func (d *instance) stop(r Request) (status int) {
	switch {
	case r.Force:
		title.Set(title.Force(d.PID))
		status = d.signalUntil(unix.SIGTERM, machine.SameRequest+50*time.Millisecond, func(p phase.Phase) bool { return p == phase.Killing })
	case d.is.Phase <= phase.Quiet:
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

// signal sends drainit a signal, unless it has ended. PID 1 needs no care: its pid is never
// recycled.
func (d *instance) signal(sig unix.Signal) (status int) {
	var err error
	if d.PID == 1 {
		err = reaper.SignalInit(sig)
	} else {
		err = reaper.Signal(d.ID, sig, proc.Read)
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

// signalUntil sends drainit a signal, and returns when its phase shows that it has acted upon
// that, or it has ended. Unless again is 0 it sends the signal each such time anew. It looks
// ever more rarely: under a CPU limit each look takes its time from drainit. Looks bound it and
// not a time: a machine that stands still or is busy keeps drainit from acting.
func (d *instance) signalUntil(sig unix.Signal, again time.Duration, acted func(phase.Phase) bool) (status int) {
	const slowest, most = 50 * time.Millisecond, 210 // looks take 10 s
	const lateAfter = 300 * time.Millisecond         // and the verb's start: mostly within a second, under a CPU limit of 10m too
	began, next, late := time.Now(), time.Duration(0), false
	for look := range most {
		waited := time.Since(began)
		if look == 0 || again > 0 && waited >= next {
			if status := d.signal(sig); status != 0 {
				return status
			}
			next = waited + again
		}
		time.Sleep(min(time.Millisecond+waited/2, slowest))
		d.refresh()
		switch {
		case d.gone || acted(d.is.Phase):
			return 0
		case d.Stopped() && look >= most/5:
			return d.answer(statusNo, fmt.Errorf("%s was sent %s and can't see it: it is stopped itself (SIGSTOP, or Ctrl-Z)", d, signals.Name(sig)))
		case waited > lateAfter && !late:
			late = true
			d.say(fmt.Errorf("%s was sent %s and is still %s; waiting", d, signals.Name(sig), d.is.Phase))
		}
	}
	return d.answer(statusNo, fmt.Errorf("%s was sent %s and is still %s; is it rewritten (--rewrite), or the machine busy?", d, signals.Name(sig), d.is.Phase))
}

// refresh looks at drainit anew.
func (d *instance) refresh() {
	now, err := d.look(d.PID)
	d.gone = proc.IsGone(err) || err == nil && now.ID != d.ID
	if err == nil && !d.gone {
		d.drainit = now
	}
}

// sleep waits, but no longer than drainit runs.
func (d *instance) sleep(atMost time.Duration) {
	for until := time.Now().Add(atMost); !d.gone && time.Now().Before(until); d.refresh() {
		time.Sleep(min(time.Until(until), 100*time.Millisecond))
	}
}
