package worker

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/reaper"
)

// Kill is the kill at the end of a stop. It is zero until then.
type Kill struct {
	Reason  Reason          // machine.ReasonGrace, ReasonSecondStop or ReasonForce
	Victims []*proc.Process // that were alive
	Unread  bool            // /proc did not show them, or not all
	Stuck   bool            // not all have ended
}

// Began reports whether the kill has begun.
func (k *Kill) Began() bool { return k.Reason != "" }

// Ended notes a child that has ended. One that did not die of SIGKILL has ended by itself, and one that did
// may have been hidden before.
func (k *Kill) Ended(child reaper.WaitEvent) {
	isIt := func(p *proc.Process) bool { return p.PID == child.PID }
	switch killed := child.TermSignal() == unix.SIGKILL; {
	case !killed:
		k.Victims = slices.DeleteFunc(k.Victims, isIt)
	case k.Began() && !k.Happened():
		k.Unread = true
	}
}

// Forced reports whether the kill came before the grace period was over, by request.
func (k *Kill) Forced() bool {
	return k.Reason == machine.ReasonSecondStop || k.Reason == machine.ReasonForce
}

// Happened reports whether a process was killed, or may have been.
func (k *Kill) Happened() bool { return len(k.Victims) > 0 || k.Unread }

// Reason is why a worker ended, or what was left was killed.
type Reason = machine.Reason

// The reasons of an end without a kill.
const (
	ReasonExit       Reason = "exit"        // it exited by itself
	ReasonStop       Reason = "stop"        // a stop signal came, and all ended in time
	ReasonOutside    Reason = "outside"     // it died of a signal that drainit did not send
	ReasonForwarded  Reason = "forwarded"   // it died of a signal that drainit forwarded
	ReasonNotStarted Reason = "not_started" // there was no worker
)
