package journal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// The lines about signals: which came, which were sent, and which were not.

// Dropped is a signal that is rewritten to nothing.
func (j *Journal) Dropped(sig unix.Signal) { j.debug(of(sig), "dropped %s", signals.Name(sig)) }

// HungUp is a HUP that says that the terminal has gone, so that it counts as a stop signal.
func (j *Journal) HungUp(sig, as unix.Signal) {
	j.info(of(sig), "the terminal is gone: %s counts as %s", signals.Name(sig), signals.Name(as))
}

// ForNone is a signal whose worker has gone.
func (j *Journal) ForNone(sig unix.Signal) {
	j.debug(of(sig), "the worker has gone: %s is dropped", signals.Name(sig))
}

// Sent is a delivery that was made, with its rule.
func (j *Journal) Sent(d forward.Delivery) {
	if d.Stop {
		j.stopsSent += max(1, len(d.Members))
		if j.firstStop == nil {
			j.firstStop = &d
		}
	}
	if d.Rule == "" {
		return
	}
	to := d.Members
	if len(to) == 0 {
		to = []proc.Process{d.Process}
	}
	for _, p := range to {
		j.debug(about(p, of(d.Signal)...), "sent %s to %v: %s", signals.Name(d.Signal), p, d.Rule)
	}
}

// Waiting is a process that was not signalled, and why.
func (j *Journal) Waiting(w forward.Waiting) {
	if !w.Undecided {
		j.debug(about(w.Process), "not signalled: %v: %s", w.Process, w.Rule)
		return
	}
	why := "its parent, which has gone"
	switch {
	case w.Waits:
		why = w.Parent.String() + ", or that waits for it and can't run its trap"
	case w.Parent.PID != 0:
		why = w.Parent.String() + ", which has gone"
	}
	j.info(about(w.Process), "%v may have been signalled by %s: drainit signals it in the last seconds of the grace period only; "+
		"--forward group would signal the group at once", w.Process, why)
}

// Refused is a process that may not be signalled, once.
func (j *Journal) Refused(d forward.Delivery, err error) {
	if errors.Is(err, reaper.ErrGone) || !j.Once(fmt.Sprint("refused ", d.Process.ID)) {
		return
	}
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	j.warn(about(d.Process, of(d.Signal)...), "cannot send %s to %v: %v%s", signals.Name(d.Signal), d.Process, err, hint)
}

// NotPassed is a signal that can't be forwarded.
func (j *Journal) NotPassed(sig unix.Signal, why error) {
	j.warn(nil, "cannot pass %s on: %v", signals.Name(sig), why)
}

// Unseen is for a worker that has gone where /proc can't be read.
func (j *Journal) Unseen(why error) {
	j.warn(nil, "cannot tell what the worker left behind: %v", why)
}

// Broadcast is a signal to the whole PID namespace.
func (j *Journal) Broadcast(why error) {
	j.warn(of(unix.SIGTERM), "sent SIGTERM to every process that is left, signalled before or not: %v", why)
}
