package inspect

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/reaper"
)

// patience bounds the wait for a drainit that was sent a signal: a busy machine may give it
// its turn late. One that is stopped itself can't act.
func (d *instance) patience() time.Duration {
	if d.Stopped() {
		return answerWithin
	}
	return 5 * answerWithin
}

// answerWithin is what a drainit that is given the processor needs at most.
const answerWithin = 2 * time.Second

// quiet is the quiet signal, and the wait that a preStop hook wants: load
// balancers and queues look away meanwhile.
func (d *instance) quiet(sleep time.Duration) (status int, err error) {
	if d.phase() > phase.Quiet {
		return 0, fmt.Errorf("%s is %s already: nothing to quiet", d.label(), d.phase())
	}
	known := time.Duration(0)
	if d.phase() == phase.Quiet {
		known = quietAgain
	}
	if _, status, err := d.signalAndWait(phase.Running, unix.SIGTSTP); err != nil {
		return status, err
	}
	d.sleep(sleep)
	now, _ := d.await(known, func(s title.State) bool { return s.QuietUnhandled })
	if now.state().QuietUnhandled {
		return 0, errors.New("quiet has no effect: no process handles SIGTSTP, and the worker keeps taking work. If it uses another signal for this: --rewrite TSTP:USR1")
	}
	return 0, nil
}

// quietAgain bounds the time in which a drainit that was quiet already acts upon another quiet
// signal. At the first its title is that of a quiet one only once it knows which processes
// handle that.
const quietAgain = 50 * time.Millisecond

func (d *instance) resume() (status int, err error) {
	if d.phase() <= phase.Quiet {
		now, status, err := d.signalAndWait(phase.Quiet, unix.SIGCONT)
		if err != nil || now.phase() <= phase.Quiet {
			return status, err
		}
		d = now // a stop came before the resume
	}
	return statusNo, fmt.Errorf("%s is %s: a worker that was sent the stop signal can't be resumed", d.label(), d.phase())
}

// signalAndWait sends drainit a signal that takes it out of a phase, and returns when it
// has left that, or has ended.
func (d *instance) signalAndWait(from phase.Phase, sig unix.Signal) (now *instance, status int, err error) {
	if err := d.signal(sig); err != nil {
		return d, statusFailed, err
	}
	now, gone := d.await(d.patience(), func(s title.State) bool {
		if s.Phase == from {
			d.noteLate(sig, from)
		}
		return s.Phase != from
	})
	if !gone && now.phase() == from {
		return now, statusNo, now.notResponding(sig)
	}
	return now, 0, nil
}

// end stops drainit, and returns when it has ended if that is wanted.
func (d *instance) end(stdout io.Writer, r Request) (status int, err error) {
	if r.Force {
		status, err = d.forceStop()
	} else {
		status, err = d.stop(stdout)
	}
	if !r.Wait || status != 0 {
		return status, err
	}
	for gone := false; !gone; _, gone = d.refresh() {
		d.sleep(time.Minute)
	}
	return 0, nil
}

// stop never sends a second stop signal: that would kill.
func (d *instance) stop(stdout io.Writer) (status int, err error) {
	if d.phase() > phase.Quiet {
		if _, err := io.WriteString(stdout, d.text(d.readStop())); err != nil {
			return statusFailed, err
		}
		return 0, errors.New("already stopping; drainit stop --force kills what is left")
	}
	if err := d.signal(unix.SIGTERM); err != nil {
		return statusFailed, err
	}
	return 0, nil
}

// forceStop sends as many stop signals as it takes: the first may begin the
// drain, and one too soon after it counts as the same request. A drainit that ignores
// repeated ones knows by the verb's name that these are meant.
func (d *instance) forceStop() (status int, err error) {
	title.Set(title.Force(d.PID))
	const apart = machine.SameRequest + 50*time.Millisecond
	const rounds = int(answerWithin / (2 * apart)) // of a machine that stood still, too
	until := time.Now().Add(d.patience())
	for round := 0; round < rounds || time.Now().Before(until); round++ {
		now, gone := d.refresh()
		if gone || now.phase() == phase.Killing {
			return 0, nil
		}
		if err := d.signal(unix.SIGTERM); err != nil && !errors.Is(err, reaper.ErrGone) {
			return statusFailed, err
		}
		d.await(apart, func(s title.State) bool {
			if s.Phase != phase.Killing {
				d.noteLate(unix.SIGTERM, s.Phase)
			}
			return s.Phase == phase.Killing
		})
	}
	now, _ := d.refresh()
	return statusNo, now.notResponding(unix.SIGTERM)
}

// noteLate says once, when it is time for it, that drainit has not yet acted upon a signal.
func (d *instance) noteLate(sig unix.Signal, now phase.Phase) {
	if d.late != nil && time.Since(d.signalled) > lateAfter {
		d.late(d.notYet(sig, now))
		d.late = nil
	}
}

// await reads the title until the phase is as wanted, drainit has gone, or the time is
// over: with so many looks in it that neither a machine that stood still nor one that
// is very busy has kept drainit from acting. They are ever further apart: under a CPU limit
// each takes its time from drainit.
func (d *instance) await(atMost time.Duration, wanted func(title.State) bool) (now *instance, gone bool) {
	const slowest = 20 * time.Millisecond
	apart := time.Millisecond
	until := time.Now().Add(atMost)
	for left := int(min(atMost, answerWithin) / slowest); ; left-- {
		now, gone = d.refresh()
		if gone || wanted(now.state()) || left <= 0 && time.Now().After(until) {
			return now, gone
		}
		time.Sleep(apart)
		apart = min(2*apart, slowest)
	}
}

// notYet says that drainit may still act upon a signal.
func (d *instance) notYet(sig unix.Signal, now phase.Phase) error {
	return fmt.Errorf("%s was sent %s and is still %s; waiting", d.label(), signals.Name(sig), now)
}

// notResponding says why drainit may not have acted upon a signal.
func (d *instance) notResponding(sig unix.Signal) error {
	name := signals.Name(sig)
	if d.Stopped() {
		return fmt.Errorf("%s was sent %s and can't see it: it is stopped itself (SIGSTOP, or Ctrl-Z)", d.label(), name)
	}
	return fmt.Errorf("%s was sent %s and is still %s; is it rewritten (--rewrite), or the machine busy?", d.label(), name, d.phase())
}

// sleep waits, but no longer than drainit runs.
func (d *instance) sleep(sleep time.Duration) {
	fd, err := unix.PidfdOpen(d.PID, 0)
	if err == unix.ESRCH {
		return // it has ended
	}
	if err != nil {
		d.sleepBlind(sleep)
		return
	}
	defer unix.Close(fd)
	for until := time.Now().Add(sleep); ; {
		left := time.Until(until)
		if left <= 0 {
			return
		}
		const longest = 1 << 30 // milliseconds, in an int of 32 bits
		ms := min(left.Milliseconds()+1, longest)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(ms))
		if n > 0 || err != nil && err != unix.EINTR {
			return
		}
	}
}

// sleepBlind is for an old kernel, and for where pidfds are not permitted.
func (d *instance) sleepBlind(sleep time.Duration) {
	const apart = 100 * time.Millisecond
	for until := time.Now().Add(sleep); ; {
		left := time.Until(until)
		if _, gone := d.refresh(); gone || left <= 0 {
			return
		}
		time.Sleep(min(left, apart))
	}
}
