package supervisor

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// Times that no flag changes.
const (
	sameRequest   = 100 * time.Millisecond // a stop signal this soon after the first is the same request
	resumeAfter   = 50 * time.Millisecond  // a stop signal that was sent before a CONT has come by then
	crashGrace    = 30 * time.Second       // the longest grace of leftovers whose worker exited by itself
	reportEvery   = 5 * time.Second        // of draining
	inspectAfter  = 10 * time.Second       // an entrypoint has migrated by then, and become the worker
	lookEvery     = time.Second            // for orphans: adoption gives no SIGCHLD
	lookAtRest    = 100 * time.Millisecond // when the grace is nearly over
	lookSoon      = 20 * time.Millisecond  // between two looks, however many children end
	restAtMost    = 5 * time.Second        // before the kill: those that nobody told are told
	sweepEvery    = 50 * time.Millisecond  // of killing: they fork meanwhile
	killingAtMost = 5 * time.Second        // then something is in state D
)

// Machine is the phases and their deadlines, as data: Step is told what
// happened and when, and says what to do. It does no I/O, reads no clock and
// starts nothing. A zero time is a deadline that is not set.
type Machine struct {
	grace     time.Duration
	stopDelay time.Duration

	phase      phase.Phase
	asked      time.Time // when the first stop signal came
	sameSaid   bool      // that a second one was the same request
	tellSignal unix.Signal
	noLookTill time.Time // a look below costs the more, the more there is
	rest       bool      // the grace is nearly over

	inspectAt time.Time
	resumeAt  time.Time // a CONT has come
	tellAt    time.Time // the stop delay is over
	killAt    time.Time // the grace is over
	restAt    time.Time // the grace is nearly over
	reportAt  time.Time
	lookAt    time.Time
	sweepAt   time.Time
	leaveAt   time.Time // even if something still lives
}

// NewMachine returns a machine in phase Starting. The grace may be 0 or
// Forever; the stop delay must be shorter.
func NewMachine(grace, stopDelay time.Duration) *Machine {
	return &Machine{grace: grace, stopDelay: stopDelay}
}

// Phase is the phase the machine is in.
func (m *Machine) Phase() phase.Phase { return m.phase }

// Asked reports whether a stop signal has come, and when the first did.
func (m *Machine) Asked() (time.Time, bool) { return m.asked, !m.asked.IsZero() }

// GraceEnd is when the grace is over; ok is false while it never is.
func (m *Machine) GraceEnd() (t time.Time, ok bool) { return m.killAt, !m.killAt.IsZero() }

// Deadline is the earliest time at which Step wants a TimePassed; ok is false
// if there is none.
func (m *Machine) Deadline() (earliest time.Time, ok bool) {
	for _, t := range []time.Time{m.inspectAt, m.resumeAt, m.tellAt, m.killAt, m.restAt, m.reportAt, m.lookAt, m.sweepAt, m.leaveAt} {
		if !t.IsZero() && (earliest.IsZero() || t.Before(earliest)) {
			earliest = t
		}
	}
	return earliest, !earliest.IsZero()
}

// Step takes one event that happened at now and returns what to do about it,
// in order. now never goes back.
func (m *Machine) Step(now time.Time, e Event) []Action {
	if e.Kind == NothingLeft && m.phase != phase.Starting {
		m.enter(phase.Done)
		return nil
	}
	switch m.phase {
	case phase.Starting:
		return m.stepStarting(now, e)
	case phase.Running, phase.Quiet:
		return m.stepRunning(now, e)
	case phase.Draining:
		return m.stepDraining(now, e)
	case phase.Killing:
		return m.stepKilling(now, e)
	case phase.Done:
		return nil
	}
	panic(fmt.Sprintf("supervisor: no such phase: %d", m.phase))
}

func (m *Machine) stepStarting(now time.Time, e Event) []Action {
	switch e.Kind {
	case Started:
		m.enter(phase.Running)
		m.inspectAt = now.Add(inspectAfter)
	case StopSignaled:
		m.enter(phase.Done)
	}
	return nil
}

// stepRunning is for running and quiet, which differ in what TSTP, CONT and
// the stop delay mean.
func (m *Machine) stepRunning(now time.Time, e Event) []Action {
	switch e.Kind {
	case QuietSignaled:
		m.enter(phase.Quiet)
		return []Action{{Kind: QuietWorker}}
	case ResumeSignaled:
		if m.phase == phase.Running {
			return []Action{{PassOn, unix.SIGCONT}}
		}
		// The kernel hands two signals to two threads, of which the one with the
		// stop may be the later one: a worker that stops must not fetch again.
		if m.resumeAt.IsZero() {
			m.resumeAt = now.Add(resumeAfter)
		}
	case OtherSignaled:
		return []Action{{PassOn, e.Signal}}
	case StopSignaled:
		return m.beginStop(now, e.Signal)
	case WorkerExited:
		bound := min(m.grace, crashGrace)
		m.beginDrain(now, bound)
		if bound == 0 {
			return append([]Action{{Kind: AnnounceExit}}, m.kill(now, AnnounceOver)...)
		}
		return []Action{{Kind: AnnounceExit}, {Kind: TellOrphans}}
	case TimePassed:
		return m.runningTimePassed(now)
	}
	return nil
}

func (m *Machine) runningTimePassed(now time.Time) (actions []Action) {
	if due(m.resumeAt, now) {
		m.enter(phase.Running)
		actions = append(actions, Action{Kind: ResumeWorker})
	}
	if due(m.inspectAt, now) {
		m.inspectAt = time.Time{}
		actions = append(actions, Action{Kind: Inspect})
	}
	return actions
}

// beginStop is the first stop signal while the worker runs.
func (m *Machine) beginStop(now time.Time, sig unix.Signal) []Action {
	wasRunning := m.phase == phase.Running
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
	m.enter(phase.Draining)
	m.setGrace(now, grace)
	m.reportAt = now.Add(reportEvery)
	m.lookAt = now.Add(lookEvery)
}

func (m *Machine) setGrace(now time.Time, grace time.Duration) {
	m.killAt, m.restAt = time.Time{}, time.Time{}
	if grace != Forever {
		m.killAt = now.Add(grace)
		m.restAt = m.killAt.Add(-min(restAtMost, grace/4))
	}
}

// Looked notes that a look below has taken so long, until now. The next one
// waits for a multiple of that, so that looks never fill the time of a drain.
func (m *Machine) Looked(now time.Time, took time.Duration) {
	const share = 4
	m.noLookTill = now.Add(max(lookSoon, share*took))
}

func (m *Machine) stepDraining(now time.Time, e Event) []Action {
	switch e.Kind {
	case StopSignaled:
		return m.stopAgain(now, e.Signal)
	case OtherSignaled:
		return []Action{{PassOn, e.Signal}}
	case WorkerExited:
		m.tellAt = time.Time{}
		return m.look(now)
	case ChildExited:
		// What it leaves has to be told, but not by one look for each death.
		if soon := latest(now, m.noLookTill); soon.Before(m.lookAt) {
			m.lookAt = soon
		}
	case TimePassed:
		return m.drainingTimePassed(now)
	}
	return nil
}

// look is a look below drainit. While the stop delay lasts there is nothing to
// look for: nobody has been told.
func (m *Machine) look(now time.Time) []Action {
	m.nextLook(now)
	switch {
	case !m.tellAt.IsZero():
		return nil
	case m.rest:
		return []Action{{Kind: TellRest}}
	}
	return []Action{{Kind: TellOrphans}}
}

func (m *Machine) nextLook(now time.Time) {
	m.lookAt = now.Add(lookEvery)
	if m.rest && m.tellAt.IsZero() {
		m.lookAt = latest(now.Add(lookAtRest), m.noLookTill)
	}
}

// stopAgain is a stop signal in a drain: the first one, if the drain began
// because the worker exited; the same request once more; or a force-stop.
func (m *Machine) stopAgain(now time.Time, sig unix.Signal) []Action {
	switch {
	case m.asked.IsZero():
		m.asked, m.rest = now, false
		m.setGrace(now, m.grace)
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
		m.nextLook(now)
		actions = append(actions, Action{TellWorker, m.tellSignal})
	}
	if due(m.restAt, now) {
		m.restAt, m.rest = time.Time{}, true
		m.lookAt = now
	}
	if due(m.lookAt, now) {
		actions = append(actions, m.look(now)...)
	}
	if due(m.reportAt, now) {
		m.reportAt = now.Add(reportEvery)
		actions = append(actions, Action{Kind: AnnounceProgress})
	}
	return actions
}

// kill enters Killing, after a line that names who is left.
func (m *Machine) kill(now time.Time, why ActionKind) []Action {
	m.enter(phase.Killing)
	m.sweepAt = now.Add(sweepEvery)
	m.leaveAt = now.Add(killingAtMost)
	return []Action{{Kind: why}, {Kind: KillAll}}
}

func (m *Machine) stepKilling(now time.Time, e Event) []Action {
	switch {
	case e.Kind != TimePassed:
	case due(m.leaveAt, now):
		m.enter(phase.Done)
		return []Action{{Kind: AnnounceStuck}}
	case due(m.sweepAt, now):
		m.sweepAt = now.Add(sweepEvery)
		return []Action{{Kind: KillAll}}
	}
	return nil
}

// enter changes the phase. No deadline of a phase outlives it, but for the one
// that running and quiet share.
func (m *Machine) enter(p phase.Phase) {
	m.phase = p
	m.resumeAt, m.tellAt, m.killAt, m.restAt, m.reportAt = time.Time{}, time.Time{}, time.Time{}, time.Time{}, time.Time{}
	m.lookAt, m.sweepAt, m.leaveAt = time.Time{}, time.Time{}, time.Time{}
	if p > phase.Quiet {
		m.inspectAt = time.Time{}
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func due(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }
