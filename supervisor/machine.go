package supervisor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Times that no flag changes.
const (
	sameRequest   = 100 * time.Millisecond // a stop signal this soon after the first is the same request
	crashGrace    = 30 * time.Second       // the longest grace of leftovers whose worker exited by itself
	reportEvery   = 5 * time.Second        // of draining
	lookEvery     = time.Second            // for orphans, once the worker has gone: adoption gives no SIGCHLD
	lookSoon      = 20 * time.Millisecond  // after one that was told has ended
	sweepEvery    = 50 * time.Millisecond  // of killing: they fork meanwhile
	killingAtMost = 5 * time.Second        // then something is in state D
)

// Machine is the phases and their deadlines, as data: Step is told what
// happened and when, and says what to do. It does no I/O, reads no clock and
// starts nothing. A zero time is a deadline that is not set.
type Machine struct {
	grace     time.Duration
	stopDelay time.Duration

	phase      Phase
	workerGone bool
	asked      time.Time // when the first stop signal came
	sameSaid   bool      // that a second one was the same request
	tellSignal unix.Signal

	tellAt   time.Time // the stop delay is over
	killAt   time.Time // the grace is over
	reportAt time.Time
	lookAt   time.Time
	sweepAt  time.Time
	leaveAt  time.Time // even if something still lives
}

// NewMachine returns a machine in phase Starting. The grace may be 0 or
// Forever; the stop delay must be shorter.
func NewMachine(grace, stopDelay time.Duration) *Machine {
	return &Machine{grace: grace, stopDelay: stopDelay}
}

// Phase is the phase the machine is in.
func (m *Machine) Phase() Phase { return m.phase }

// Asked reports whether a stop signal has come, and when the first did.
func (m *Machine) Asked() (time.Time, bool) { return m.asked, !m.asked.IsZero() }

// GraceEnd is when the grace is over; ok is false while it never is.
func (m *Machine) GraceEnd() (t time.Time, ok bool) { return m.killAt, !m.killAt.IsZero() }

// Deadline is the earliest time at which Step wants a TimePassed; ok is false
// if there is none.
func (m *Machine) Deadline() (earliest time.Time, ok bool) {
	for _, t := range []time.Time{m.tellAt, m.killAt, m.reportAt, m.lookAt, m.sweepAt, m.leaveAt} {
		if !t.IsZero() && (earliest.IsZero() || t.Before(earliest)) {
			earliest = t
		}
	}
	return earliest, !earliest.IsZero()
}

// Step takes one event that happened at now and returns what to do about it,
// in order. now never goes back.
func (m *Machine) Step(now time.Time, e Event) []Action {
	if e.Kind == NothingLeft && m.phase != Starting {
		m.enter(Done)
		return nil
	}
	switch m.phase {
	case Starting:
		return m.stepStarting(e)
	case Running, Quiet:
		return m.stepRunning(now, e)
	case Draining:
		return m.stepDraining(now, e)
	case Killing:
		return m.stepKilling(now, e)
	case Done:
		return nil
	}
	panic(fmt.Sprintf("supervisor: no such phase: %d", m.phase))
}

func (m *Machine) stepStarting(e Event) []Action {
	switch e.Kind {
	case Started:
		m.enter(Running)
	case StopSignaled:
		m.enter(Done)
	}
	return nil
}

// stepRunning is for running and quiet, which differ in what TSTP, CONT and
// the stop delay mean.
func (m *Machine) stepRunning(now time.Time, e Event) []Action {
	switch e.Kind {
	case QuietSignaled:
		m.enter(Quiet)
		return []Action{{Kind: QuietWorker}}
	case ResumeSignaled:
		if m.phase == Running {
			return []Action{{PassOn, unix.SIGCONT}}
		}
		m.enter(Running)
		return []Action{{Kind: ResumeWorker}}
	case OtherSignaled:
		return []Action{{PassOn, e.Signal}}
	case StopSignaled:
		return m.beginStop(now, e.Signal)
	case WorkerExited:
		m.workerGone = true
		bound := min(m.grace, crashGrace)
		m.beginDrain(now, bound)
		if bound == 0 {
			return append([]Action{{Kind: AnnounceExit}}, m.kill(now, AnnounceOver)...)
		}
		return []Action{{Kind: AnnounceExit}, {Kind: TellLeftovers}}
	}
	return nil
}

// beginStop is the first stop signal while the worker runs.
func (m *Machine) beginStop(now time.Time, sig unix.Signal) []Action {
	wasRunning := m.phase == Running
	m.asked = now
	m.beginDrain(now, m.grace)
	switch {
	case m.grace == 0:
		return m.kill(now, AnnounceOver)
	case wasRunning && m.stopDelay > 0:
		m.tellAt, m.tellSignal = now.Add(m.stopDelay), sig
		return []Action{{AnnounceDrain, sig}, {Kind: QuietWorker}}
	}
	return []Action{{TellWorker, sig}, {AnnounceDrain, sig}}
}

func (m *Machine) beginDrain(now time.Time, grace time.Duration) {
	m.enter(Draining)
	if grace != Forever {
		m.killAt = now.Add(grace)
	}
	m.reportAt = now.Add(reportEvery)
	if m.workerGone {
		m.lookAt = now.Add(lookEvery)
	}
}

func (m *Machine) stepDraining(now time.Time, e Event) []Action {
	switch e.Kind {
	case StopSignaled:
		return m.stopAgain(now, e.Signal)
	case OtherSignaled:
		return []Action{{PassOn, e.Signal}}
	case WorkerExited:
		m.workerGone = true
		m.tellAt = time.Time{}
		m.lookAt = now.Add(lookEvery)
		return []Action{{Kind: TellLeftovers}}
	case ToldExited:
		// What it leaves has to be told, but not by one look for each death.
		if soon := now.Add(lookSoon); m.workerGone && soon.Before(m.lookAt) {
			m.lookAt = soon
		}
	case TimePassed:
		return m.drainingTimePassed(now)
	}
	return nil
}

// stopAgain is a stop signal in a drain: the first one, if the drain began
// because the worker exited; the same request once more; or a force-stop.
func (m *Machine) stopAgain(now time.Time, sig unix.Signal) []Action {
	switch {
	case m.asked.IsZero():
		m.asked = now
		m.killAt = time.Time{}
		if m.grace != Forever {
			m.killAt = now.Add(m.grace)
		}
		if m.grace == 0 {
			return m.kill(now, AnnounceOver)
		}
		return []Action{{AnnounceStop, sig}}
	case now.Sub(m.asked) < sameRequest && m.sameSaid:
		return nil
	case now.Sub(m.asked) < sameRequest:
		m.sameSaid = true
		return []Action{{AnnounceSame, sig}}
	}
	return m.kill(now, AnnounceForce)
}

func (m *Machine) drainingTimePassed(now time.Time) []Action {
	if due(m.killAt, now) {
		return m.kill(now, AnnounceOver)
	}
	var actions []Action
	if due(m.tellAt, now) {
		m.tellAt = time.Time{}
		actions = append(actions, Action{TellWorker, m.tellSignal})
	}
	if due(m.lookAt, now) {
		m.lookAt = now.Add(lookEvery)
		actions = append(actions, Action{Kind: TellLeftovers})
	}
	if due(m.reportAt, now) {
		m.reportAt = now.Add(reportEvery)
		actions = append(actions, Action{Kind: AnnounceProgress})
	}
	return actions
}

// kill enters Killing, after a line that names who is left.
func (m *Machine) kill(now time.Time, why ActionKind) []Action {
	m.enter(Killing)
	m.sweepAt = now.Add(sweepEvery)
	m.leaveAt = now.Add(killingAtMost)
	return []Action{{Kind: why}, {Kind: KillAll}}
}

func (m *Machine) stepKilling(now time.Time, e Event) []Action {
	switch e.Kind {
	case WorkerExited:
		m.workerGone = true
	case TimePassed:
		if due(m.leaveAt, now) {
			m.enter(Done)
			return []Action{{Kind: AnnounceStuck}}
		}
		if due(m.sweepAt, now) {
			m.sweepAt = now.Add(sweepEvery)
			return []Action{{Kind: KillAll}}
		}
	}
	return nil
}

// enter changes the phase. No deadline of a phase outlives it.
func (m *Machine) enter(p Phase) {
	m.phase = p
	m.tellAt, m.killAt, m.reportAt = time.Time{}, time.Time{}, time.Time{}
	m.lookAt, m.sweepAt, m.leaveAt = time.Time{}, time.Time{}, time.Time{}
}

func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }
