// Package forward decides which processes get a signal: a request and a snapshot in, deliveries out.
//
// Below the worker, drainit sends the stop signal only to a process of which it is certain that no process
// has signalled it, or when the grace period is nearly over: for many workers a second signal is a
// force-stop. Certain are: one that is untouched (proc.Process); one whose parent drainit signalled, which
// had no handler at any time and died of that; one below a process that ignores the signal or still has
// it pending; a child that a dash or busybox waits for in wait4(2). All others are signalled only if they
// are untouched. No program is an exception.
//
// It owns every choice of recipients, and the history that the choices of a stop depend on. It must never
// do I/O, send a signal, read a clock or write a line: it can be walked whole, without a process.
package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Purpose is what a signal is for.
type Purpose uint8

// The purposes. The first four are the steps of a stop.
const (
	Stop        Purpose = iota // the first stop signal
	Orphans                    // a stop goes on: those that no other process can have signalled
	LastCall                   // the grace period is nearly over: orphans as well that another may have signalled
	FinalCall                  // the kill is near: all that were not signalled
	Quiet                      // the worker is to take no new work
	Resume                     // it may again
	PassThrough                // any other signal: it means nothing to drainit
)

// OfStop reports whether it is a step of a stop.
func (p Purpose) OfStop() bool { return p <= FinalCall }

// Mode is which processes get a signal.
type Mode uint8

// The modes of --forward.
const (
	ModeAuto   Mode = iota // the first that handles it on each way down from the worker
	ModeGroup              // the worker's process group
	ModeWorker             // the worker alone
)

func (m Mode) String() string { return [...]string{"auto", "group", "worker"}[m] }

// Request is one signal to be delivered.
type Request struct {
	Purpose Purpose
	Signal  unix.Signal // after the rewrite
	Mode    Mode
	Worker  Worker
	Tick    uint64 // when a step of a stop is, as proc.Ticks tells
}

// Worker is what is known of the worker beside its snapshot.
type Worker struct {
	PID        int
	PGID       int  // the process group that the first worker was given
	Gone       bool // it has been waited for
	Daemonizes bool // what it leaves when it exits is its work
}

// Target is what a delivery goes to.
type Target uint8

// The targets.
const (
	ToProcess   Target = iota // Delivery.Process
	ToGroup                   // its process group, Delivery.PGID; or the process alone, where it has left that
	ToNamespace               // every process of the PID namespace
	ToTree                    // every process below drainit
)

// Delivery is a signal to be sent.
type Delivery struct {
	Target  Target
	Process proc.Process // of a worker that /proc hides, no more than the pid is known
	PGID    int
	Signal  unix.Signal
	Child   bool   // Process is drainit's child: its pid can't be another's
	Rule    string // why, for the log; "" is not worth a line
	Stop    bool   // the stop signal: noted as such, and a process that is stopped is continued after it

	OnlyIfHandled bool           // it would stop the process: sent only if that handles it still
	Members       []proc.Process // of the group, as far as they are known
}

// Reached returns the processes that the delivery goes to, as far as they are known.
func (d Delivery) Reached() []proc.Process {
	if len(d.Members) > 0 {
		return d.Members
	}
	return []proc.Process{d.Process}
}
