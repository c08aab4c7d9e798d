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
	Resumed                         // the processes that were quieted take work again
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

// The actions. The first four are the steps of a stop. Those that begin with Announce only write a line.
const (
	SignalWorker     ActionKind = iota // begin the stop: send Action.Signal to the worker
	SignalOrphans                      // signal the orphans that no other process can have signalled
	LastCall                           // the grace is nearly over: also those that another may have signalled
	FinalCall                          // the kill is near: all that handle the signal and were not signalled
	Inspect                            // see whether the worker keeps signals from the processes below it
	QuietWorker                        // send TSTP to the processes that handle it and have not been sent it
	ResumeWorker                       // send CONT to the processes that were sent TSTP; Resumed ends quiet
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
	AnnounceOver                       // the grace period is over; before the kill, to name what lives
	AnnounceForce                      // a second stop signal, or a forced stop; before the kill, likewise
	AnnounceStuck                      // a process outlived SIGKILL
)

// Action is one thing to do.
type Action struct {
	Kind   ActionKind
	Signal unix.Signal
}
