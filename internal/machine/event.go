package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// EventKind is the kind of an event.
type EventKind uint8

// The events. A signal that means nothing to the machine is none.
const (
	Started        EventKind = iota // the worker runs
	StopSignaled                    // a stop signal came: Event.Signal, before any rewrite
	QuietSignaled                   // TSTP came
	ResumeSignaled                  // CONT came in quiet
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

// ActionKind is what is to be done.
type ActionKind uint8

// The actions. Those after Say are the steps of a stop.
const (
	Say           ActionKind = iota // write Action.Line
	SignalWorker                    // begin the stop: send its signal to the worker
	SignalOrphans                   // signal the orphans that no other process can have signalled
	LastCall                        // the grace is nearly over: also those that another may have signalled
	FinalCall                       // the kill is near: all that handle the signal and were not signalled
	Inspect                         // see whether the worker keeps signals from the processes below it
	QuietWorker                     // send TSTP to the processes that handle it and have not been sent it
	ResumeWorker                    // send CONT to the processes that were sent TSTP; Resumed ends quiet
	KillTree                        // SIGKILL to everything below drainit, the first time with Action.Reason
	GiveUp                          // a process outlived SIGKILL
)

// Line is a line to be written.
type Line uint8

// The lines.
const (
	DrainBegins Line = iota // by a stop signal, Action.Signal
	WorkerEnded             // the drain begins because the worker exited
	DelayOver               // the stop delay is over, and the worker was signalled
	GraceBegins             // by the first stop signal in a drain that began without one
	SameStop                // a stop signal that is the same request as the first
	StopIgnored             // a stop signal that is ignored, as configured
	Progress                // which processes are left, and for how long
)

// Reason is why what is left is killed: a value of the log's field reason.
type Reason string

// The reasons.
const (
	ReasonGrace      Reason = "grace"          // the grace period was over
	ReasonSecondStop Reason = "second_stop"    // a second stop signal
	ReasonForce      Reason = "force"          // drainit stop --force
	ReasonWorkerOnly Reason = "forward_worker" // the worker has ended, and the rest gets no time
)

// Action is one thing to do.
type Action struct {
	Kind   ActionKind
	Line   Line
	Signal unix.Signal
	Reason Reason
}

func say(line Line, sig unix.Signal) Action { return Action{Kind: Say, Line: line, Signal: sig} }
