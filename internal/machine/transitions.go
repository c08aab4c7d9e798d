package machine

import (
	"time"
)

// The transitions of the table, in the order of the phases.

func (m *Machine) run(now time.Time, _ Event) []Action {
	m.enter(Running)
	m.timers[inspectTimer] = now.Add(inspectAfter)
	return nil
}

func (m *Machine) finish(time.Time, Event) []Action {
	m.enter(Done)
	return nil
}

func (m *Machine) quiet(time.Time, Event) []Action {
	m.phase, m.timers[resumeTimer] = Quiet, time.Time{}
	return []Action{{Kind: QuietWorker}}
}

// resumeSoon is a CONT. The kernel hands two signals to two threads, of which the one with
// a stop may be the later one: a worker that stops must not fetch again.
func (m *Machine) resumeSoon(now time.Time, _ Event) []Action {
	if !m.isSet(resumeTimer) {
		m.timers[resumeTimer] = now.Add(ResumeAfter)
	}
	return nil
}

// timersOfRunning is for running and quiet.
func (m *Machine) timersOfRunning(now time.Time, _ Event) (actions []Action) {
	if m.due(resumeTimer, now) {
		m.phase, m.timers[resumeTimer] = Running, time.Time{}
		actions = append(actions, Action{Kind: ResumeWorker})
	}
	if m.due(inspectTimer, now) {
		m.timers[inspectTimer] = time.Time{}
		actions = append(actions, Action{Kind: Inspect})
	}
	return actions
}

// beginStop is the first stop signal while the worker runs. If the worker is quiet already, there is no stop delay:
// load balancers send it no requests. A stop delay needs no snapshot for orphans: no process has been signalled.
func (m *Machine) beginStop(now time.Time, e Event) []Action {
	delay := m.cfg.StopDelay
	if m.phase == Quiet {
		delay = 0
	}
	m.requested = e.At
	m.beginDrain(now, m.requested, m.cfg.Grace)
	switch {
	case e.Forced:
		return m.kill(now, AnnounceForce)
	case m.cfg.Grace == 0:
		return m.kill(now, AnnounceOver)
	case delay > 0:
		m.timers[delayTimer], m.timers[snapshotTimer] = m.requested.Add(delay), time.Time{}
		return []Action{{AnnounceDrain, e.Signal}, {Kind: QuietWorker}}
	}
	return []Action{{SignalWorker, e.Signal}, {AnnounceDrain, e.Signal}}
}

// drainLeftovers is a worker that exited by itself.
func (m *Machine) drainLeftovers(now time.Time, _ Event) []Action {
	if m.cfg.EndsWithWorker {
		return m.kill(now, AnnounceLeaving)
	}
	bound := m.Grace()
	m.beginDrain(now, now, bound)
	if bound == 0 {
		return append([]Action{{Kind: AnnounceExit}}, m.kill(now, AnnounceOver)...)
	}
	return []Action{{Kind: AnnounceExit}, {Kind: SignalOrphans}}
}

func (m *Machine) beginDrain(now, since time.Time, grace time.Duration) {
	m.enter(Draining)
	m.timers[progressTimer] = now.Add(progressEvery)
	m.setGrace(since, grace)
	m.timers[snapshotTimer] = now.Add(m.every(false))
}

func (m *Machine) setGrace(since time.Time, grace time.Duration) {
	if grace == Forever {
		m.timers[graceTimer], m.timers[lastCallTimer], m.timers[finalCallTimer] = time.Time{}, time.Time{}, time.Time{}
		return
	}
	last, final := Calls(grace, m.cfg.Limit)
	m.calls = [2]time.Time{since.Add(last), since.Add(final)}
	m.timers[graceTimer], m.timers[lastCallTimer], m.timers[finalCallTimer] = since.Add(grace), m.calls[0], m.calls[1]
}

// Calls returns how long after the stop signal the last and the final call come: in the last quarter and the
// last tenth of the time to the kill, be it that of a grace period, not Forever, or that of the platform at
// its limit.
func Calls(grace, limit time.Duration) (last, final time.Duration) {
	if limit > 0 {
		grace = min(grace, limit)
	}
	return grace - min(lastCallTime, grace/4), grace - min(finalCallTime, grace/10)
}

// stopAgain is a stop signal in a drain: the first one, if the drain began
// because the worker exited; the same request once more; or a force-stop.
func (m *Machine) stopAgain(now time.Time, e Event) []Action {
	first := m.requested.IsZero()
	if first {
		m.requested = e.At
	}
	switch {
	case e.Forced:
		return m.kill(now, AnnounceForce)
	case first:
		m.setGrace(e.At, m.cfg.Grace) // not 0: such a machine never drains
		return []Action{{AnnounceStop, e.Signal}}
	case e.At.Sub(m.requested) < SameRequest:
		return []Action{{AnnounceSame, e.Signal}}
	case m.cfg.SecondStopIgnored:
		return []Action{{AnnounceIgnored, e.Signal}}
	}
	return m.kill(now, AnnounceForce)
}

// lostWorker is a worker that ended in a drain.
func (m *Machine) lostWorker(now time.Time, _ Event) []Action {
	if m.cfg.EndsWithWorker {
		return m.kill(now, AnnounceLeaving)
	}
	m.timers[delayTimer] = time.Time{}
	return m.snapshot(now)
}

// snapshotSoon is the death of a child, whose own children may be orphans now. There is
// not one snapshot for each death.
func (m *Machine) snapshotSoon(now time.Time, _ Event) []Action {
	if now.Before(m.timers[snapshotTimer]) { // it is set
		m.timers[snapshotTimer] = now
	}
	return nil
}

// snapshot is for orphans.
func (m *Machine) snapshot(now time.Time) []Action {
	m.timers[snapshotTimer] = now.Add(m.every(false))
	switch {
	case m.finalCall():
		return []Action{{Kind: FinalCall}}
	case m.lastCall():
		return []Action{{Kind: LastCall}}
	}
	return []Action{{Kind: SignalOrphans}}
}

func (m *Machine) timersOfDraining(now time.Time, _ Event) (actions []Action) {
	if m.due(graceTimer, now) {
		return m.kill(now, AnnounceOver)
	}
	look := m.due(snapshotTimer, now)
	for _, call := range []timer{lastCallTimer, finalCallTimer} {
		if m.due(call, now) {
			m.timers[call], look = time.Time{}, true
		}
	}
	progress := m.due(progressTimer, now) || look && !now.Before(m.timers[progressTimer]) // the line costs none of its own
	switch delayed := m.isSet(delayTimer); {
	case m.due(delayTimer, now):
		m.timers[delayTimer], m.timers[snapshotTimer] = time.Time{}, now.Add(m.every(false))
		actions = []Action{{SignalWorker, m.signal}, {AnnounceSignaled, m.signal}}
	case !delayed && (look || progress): // it is to be seen for both
		actions = m.snapshot(now)
	}
	if progress {
		m.timers[progressTimer] = now.Add(progressEvery)
		actions = append(actions, Action{Kind: AnnounceProgress})
	}
	return actions
}

// kill enters Killing, after a line that names what is left.
func (m *Machine) kill(now time.Time, why ActionKind) []Action {
	m.enter(Killing)
	m.timers[killTimer] = now.Add(killEvery)
	m.timers[leaveTimer] = now.Add(KillingTime)
	return []Action{{Kind: why}, {Kind: KillTree}}
}

func (m *Machine) timersOfKilling(now time.Time, _ Event) []Action {
	switch {
	case m.due(leaveTimer, now):
		m.enter(Done)
		return []Action{{Kind: AnnounceStuck}}
	case m.due(killTimer, now):
		m.timers[killTimer] = now.Add(killEvery)
		return []Action{{Kind: KillTree}}
	}
	return nil
}
