package machine

import "time"

// transition is what one event does in one phase: it changes the machine and returns the
// actions, in their order.
type transition func(m *Machine, now time.Time, e Event) []Action

// table has the transition for each event in each phase. An event without one does nothing.
var table = [Count][eventCount]transition{
	Starting: {
		Started:      run,
		StopSignaled: finish, // the worker is not started
	},
	Running: {
		StopSignaled:  beginStop,
		QuietSignaled: quiet,
		WorkerExited:  drainWhatIsLeft,
		NothingLeft:   finish,
		TimePassed:    timersOfRunning,
	},
	Quiet: {
		StopSignaled:   beginStop,
		QuietSignaled:  quiet,
		ResumeSignaled: resumeSoon,
		WorkerExited:   drainWhatIsLeft,
		NothingLeft:    finish,
		TimePassed:     timersOfRunning,
	},
	Draining: {
		StopSignaled: stopAgain,
		WorkerExited: lostWorker,
		ChildExited:  snapshotNow,
		NothingLeft:  finish,
		TimePassed:   timersOfDraining,
	},
	Killing: {
		NothingLeft: finish,
		TimePassed:  timersOfKilling,
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
