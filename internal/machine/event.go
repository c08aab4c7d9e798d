package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// EventKind is the kind of an event.
type EventKind uint8

// The events. The signals are as they came, before any rewrite.
const (
	Started        EventKind = iota // the worker runs
	StopSignaled                    // a stop signal came: Event.Signal
	QuietSignaled                   // TSTP came
	ResumeSignaled                  // CONT came
	OtherSignaled                   // any other signal came: Event.Signal
	WorkerExited                    // the worker has been waited for and other children are left
	ChildExited                     // another child has been waited for
	NothingLeft                     // no child is left (ECHILD)
	TimePassed                      // a timer is due
	eventCount     = int(TimePassed) + 1
)

// Event is one thing that happened to drainit.
type Event struct {
	Kind   EventKind
	Signal unix.Signal
	At     time.Time // of a stop signal: the earliest time at which it can have come; zero for now
	Forced bool      // of a stop signal: signals.ForceStop, which drainit stop --force sends
}

// ActionKind is the kind of an action.
type ActionKind uint8

// The actions. Those that begin with Announce only write a line.
const (
	SignalWorker     ActionKind = iota // send the stop signal Action.Signal to the worker
	SignalOrphans                      // take a snapshot, and signal the orphans that no other process can have signalled
	LastCall                           // the same, and the orphans that another process may have signalled: the grace period is nearly over
	FinalCall                          // the same, and all processes that were not signalled: the kill is near
	Inspect                            // find out whether the worker keeps signals from the processes below it
	QuietWorker                        // send TSTP to the processes that handle it and have not been sent it
	ResumeWorker                       // send CONT to the processes that were sent TSTP
	PassThrough                        // forward Action.Signal
	KillTree                           // SIGKILL to everything below drainit
	AnnounceDrain                      // the drain begins by a stop signal, Action.Signal
	AnnounceExit                       // the drain begins because the worker exited
	AnnounceSignaled                   // the stop delay is over, and the worker was sent Action.Signal
	AnnounceStop                       // the first stop signal in a drain that began without one
	AnnounceSame                       // a stop signal that is the same request as the first
	AnnounceIgnored                    // a stop signal that is ignored, as configured
	AnnounceLeaving                    // the worker has exited, and drainit ends with it; before the kill
	AnnounceProgress                   // which processes are left, and for how long
	AnnounceOver                       // the grace period is over; comes before the kill, to name the living processes
	AnnounceForce                      // a second stop request; likewise
	AnnounceStuck                      // a process outlived SIGKILL
)

// Action is one thing to do.
type Action struct {
	Kind   ActionKind
	Signal unix.Signal
}
