package machine

import "time"

// transition is what one event does in one phase: it changes the machine and returns the
// actions, in their order.
type transition func(m *Machine, now time.Time, e Event) []Action

// passOn changes nothing in the machine.
func passOn(_ *Machine, _ time.Time, e Event) []Action { return []Action{{PassThrough, e.Signal}} }

// table is every phase × event. What is not in it does nothing.
var table = [Count][eventCount]transition{
	Starting: {
		Started:      (*Machine).run,
		StopSignaled: (*Machine).finish, // the worker is not started
	},
	Running: {
		StopSignaled:   (*Machine).beginStop,
		QuietSignaled:  (*Machine).quiet,
		ResumeSignaled: passOn,
		OtherSignaled:  passOn,
		WorkerExited:   (*Machine).drainLeftovers,
		NothingLeft:    (*Machine).finish,
		TimePassed:     (*Machine).timersOfRunning,
	},
	Quiet: {
		StopSignaled:   (*Machine).beginStop,
		QuietSignaled:  (*Machine).quiet,
		ResumeSignaled: (*Machine).resumeSoon,
		OtherSignaled:  passOn,
		WorkerExited:   (*Machine).drainLeftovers,
		NothingLeft:    (*Machine).finish,
		TimePassed:     (*Machine).timersOfRunning,
	},
	Draining: {
		StopSignaled:  (*Machine).stopAgain,
		OtherSignaled: passOn,
		WorkerExited:  (*Machine).lostWorker,
		ChildExited:   (*Machine).snapshotSoon,
		NothingLeft:   (*Machine).finish,
		TimePassed:    (*Machine).timersOfDraining,
	},
	Killing: {
		NothingLeft: (*Machine).finish,
		TimePassed:  (*Machine).timersOfKilling,
	},
}

// Step takes one event that happened at now and returns what to do about it,
// in order. now never goes back.
func (m *Machine) Step(now time.Time, e Event) []Action {
	if e.Kind == StopSignaled && m.signal == 0 {
		m.signal = e.Signal
	}
	if e.At.IsZero() {
		e.At = now
	}
	if next := table[m.phase][e.Kind]; next != nil {
		return next(m, now, e)
	}
	return nil
}
