// Package forward decides which processes get a signal: a request and a snapshot in, deliveries out.
//
// For many workers a second stop signal is a force-stop. So below the worker, drainit sends the stop signal
// only to a process that no other process has signalled as far as the evidence shows, until the grace period
// is nearly over. Whatever programs run, these are certain where the evidence shows them:
//   - an untouched process (proc.Process), and one that was untouched when those above it last ran
//   - a process of those above which none had a handler at any time
//   - a process below one that ignores the signal or still has it pending
//   - the child that a dash or busybox waits for in wait4(2)
//
// Its files, in the order in which they are read:
//   - request.go: what comes in, and what a delivery is; plan.go: the steps of a stop
//   - rules.go: the questions about each process; calls.go and spared.go: what overrides the answers
//   - relation.go: what one process may have done to another; foreground.go: what a shell waits for
//   - evidence.go: the conclusions of both; record.go and history.go: the facts that these rest on
//   - signal.go: which signal is sent; ledger.go: who was sent what; successor.go; unsignalled.go
//   - passthrough.go: quiet, resume and all other signals; foresee.go: a stop that is only played
//
// It owns every choice of recipients, and the history that the choices of a stop depend on. It must never
// do I/O, send a signal, read a clock or write a line. So tests can walk it whole, without a process.
package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Purpose is the reason for a signal.
type Purpose uint8

// The purposes. The first four are the steps of a stop.
const (
	Stop        Purpose = iota // the first stop signal
	Orphans                    // the stop goes on: the orphans that no other process can have signalled
	LastCall                   // the grace period is nearly over: also those that another may have signalled
	FinalCall                  // the kill is near: all that handle the signal and were not signalled
	Quiet                      // the worker is to take no new work
	Resume                     // the worker may take work again
	PassThrough                // any other signal, to which drainit does not react
)

// OfStop reports whether the purpose is a step of a stop.
func (p Purpose) OfStop() bool { return p <= FinalCall }

// Mode says which processes get a signal.
type Mode uint8

// The modes of --forward.
const (
	ModeAuto     Mode = iota // the worker at the stop; else the first that handles it on each way down
	ModeHandlers             // the same, but a worker without a handler is left alone: PID 1 would not get it
	ModeGroup                // the worker's process group
	ModeWorker               // the worker alone
	ModeNone                 // no process gets the stop signal: the platform has sent it to each
)

// Request asks for the plan of a signal: which processes are to get it, at which step.
type Request struct {
	Purpose Purpose
	Signal  unix.Signal // after the rewrite
	Mode    Mode
	Tick    uint64 // the time of a step of a stop, from proc.Ticks
	ByKey   bool   // Ctrl-C: each process of the worker's group is sent it at one moment, as by the kernel
	EndAt   uint64 // the time of the kill, in the same unit, or program.Forever
}

// Target is the receiver of a delivery.
type Target uint8

// The targets. A line of the log can name the receiver of the first two alone. ToTree is in no plan: the
// supervisor kills by it.
const (
	ToProcess   Target = iota // Delivery.Process
	ToGroup                   // its process group, Delivery.PGID, or the process alone if it has left that
	ToNamespace               // every process of the PID namespace
	ToTree                    // every process below drainit
)

// Delivery is a signal to be sent.
type Delivery struct {
	Target  Target
	Process proc.Process // the receiver; of other targets the living worker. A hidden one is a pid alone
	PGID    int          // of ToGroup
	Signal  unix.Signal
	Child   bool   // Process is drainit's child: its pid can't be another's
	Rule    string // the reason, for the log, "" for no line
	Stop    bool   // it is the stop signal: the history notes it, and a stopped process is continued after it
	Late    bool   // it comes in the last or the final call alone
	Refused bool   // the kernel has not permitted it (EPERM)
	Tick    uint64 // in the history: proc.Ticks from before it was made

	OnlyIfHandled bool           // sent only if the process still handles the signal, which would stop it
	Members       []proc.Process // of ToGroup, as far as they are known
}

// Reached returns the known processes that the delivery goes to: the members of the group, or the process
// alone if none are known.
func (d Delivery) Reached() []proc.Process {
	if len(d.Members) > 0 {
		return d.Members
	}
	return []proc.Process{d.Process}
}
