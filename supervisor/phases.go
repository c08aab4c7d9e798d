package supervisor

import "golang.org/x/sys/unix"

// EventKind is what happened.
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
	TimePassed                      // the deadline was reached
)

// Event is one thing that happened to drainit.
type Event struct {
	Kind   EventKind
	Signal unix.Signal
}

// ActionKind is what is to be done.
type ActionKind uint8

// The actions. Those that begin with Announce only write a line.
const (
	TellWorker       ActionKind = iota // send the stop signal Action.Signal to the worker
	TellOrphans                        // look below drainit, and tell its children whom nobody can have told
	TellRest                           // tell all its children that were not told: the grace is nearly over
	Inspect                            // look whether the worker passes signals on
	QuietWorker                        // send TSTP to those that catch it and have not been sent it
	ResumeWorker                       // send CONT to those that were sent TSTP
	PassOn                             // pass Action.Signal on
	KillAll                            // SIGKILL to everything below drainit
	AnnounceDrain                      // the drain begins by a stop signal, Action.Signal
	AnnounceExit                       // the drain begins because the worker exited
	AnnounceStop                       // the first stop signal in a drain that began without one
	AnnounceSame                       // a stop signal that is the same request as the first
	AnnounceProgress                   // who is left, and for how long
	AnnounceOver                       // the grace is over; before the kill, for it names who lives
	AnnounceForce                      // a second stop request; likewise
	AnnounceStuck                      // something outlived SIGKILL
)

// Action is one thing to do.
type Action struct {
	Kind   ActionKind
	Signal unix.Signal
}
