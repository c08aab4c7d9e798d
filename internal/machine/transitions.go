package machine

import (
	"time"

	"drainit/internal/phase"
)

// The transitions of the table, in the order of the phases.

func (m *Machine) run(now time.Time, _ Event) []Action {
	m.enter(phase.Running)
	m.timers[inspectTimer] = now.Add(inspectAfter)
	return nil
}

func (m *Machine) finish(time.Time, Event) []Action {
	m.enter(phase.Done)
	return nil
}

func (m *Machine) quiet(time.Time, Event) []Action {
	m.enter(phase.Quiet)
	return []Action{{Kind: QuietWorker}}
}

func (m *Machine) suspend(time.Time, Event) []Action { return []Action{{Kind: SuspendWorker}} }

func (m *Machine) passThrough(_ time.Time, e Event) []Action {
	return []Action{{PassThrough, e.Signal}}
}

func (m *Machine) daemonized(time.Time, Event) []Action { return []Action{{Kind: RunOn}} }

// resumeSoon is a CONT. The kernel hands two signals to two threads, of which the one with
// a stop may be the later one: a worker that stops must not fetch again.
func (m *Machine) resumeSoon(now time.Time, _ Event) []Action {
	if m.timers[resumeTimer].IsZero() {
		m.timers[resumeTimer] = now.Add(ResumeAfter)
	}
	return nil
}

// timersOfRunning is for running and quiet.
func (m *Machine) timersOfRunning(now time.Time, _ Event) (actions []Action) {
	if m.due(resumeTimer, now) {
		m.enter(phase.Running)
		actions = append(actions, Action{Kind: ResumeWorker})
	}
	if m.due(inspectTimer, now) {
		m.timers[inspectTimer] = time.Time{}
		actions = append(actions, Action{Kind: Inspect})
	}
	return actions
}

// beginStop is the first stop signal while the worker runs. Where it is quiet already,
// load balancers have looked away: no stop delay.
func (m *Machine) beginStop(now time.Time, e Event) []Action {
	wasRunning := m.phase == phase.Running
	m.requested, _ = e.orNow(now)
	m.beginDrain(now)
	m.setGrace(m.requested, m.cfg.Grace)
	switch {
	case m.cfg.Grace == 0:
		return m.kill(now, AnnounceOver)
	case wasRunning && m.cfg.StopDelay > 0:
		m.timers[delayTimer] = m.requested.Add(m.cfg.StopDelay)
		return []Action{{AnnounceDrain, e.Signal}, {Kind: QuietWorker}}
	}
	return []Action{{SignalWorker, e.Signal}, {AnnounceDrain, e.Signal}}
}

// drainLeftovers is a worker that exited by itself.
func (m *Machine) drainLeftovers(now time.Time, _ Event) []Action {
	if m.cfg.EndsWithWorker {
		return m.kill(now, AnnounceLeaving)
	}
	bound := min(m.cfg.Grace, CrashGrace)
	m.beginDrain(now)
	m.setGrace(now, bound)
	if bound == 0 {
		return append([]Action{{Kind: AnnounceExit}}, m.kill(now, AnnounceOver)...)
	}
	return []Action{{Kind: AnnounceExit}, {Kind: SignalOrphans}}
}

func (m *Machine) beginDrain(now time.Time) {
	m.enter(phase.Draining)
	m.timers[progressTimer] = now.Add(progressEvery)
	m.timers[snapshotTimer] = now.Add(snapshotEvery)
}

func (m *Machine) setGrace(now time.Time, grace time.Duration) {
	m.timers[graceTimer], m.timers[lastCallTimer] = time.Time{}, time.Time{}
	if grace != Forever {
		end := now.Add(grace)
		m.timers[graceTimer], m.timers[lastCallTimer] = end, end.Add(-min(lastCallTime, grace/4))
	}
}

// stopAgain is a stop signal in a drain: the first one, if the drain began
// because the worker exited; the same request once more; or a force-stop.
func (m *Machine) stopAgain(now time.Time, e Event) []Action {
	at, earliest := e.orNow(now)
	switch {
	case m.requested.IsZero():
		m.requested, m.lastCall = at, false
		m.setGrace(at, m.cfg.Grace) // not 0: such a machine never drains
		return []Action{{AnnounceStop, e.Signal}}
	case earliest.Sub(m.requested) < SameRequest:
		return []Action{{AnnounceSame, e.Signal}}
	case m.cfg.SecondStopIgnored:
		return []Action{{AnnounceIgnored, e.Signal}}
	}
	return m.kill(now, AnnounceForce)
}

func (m *Machine) forced(now time.Time, _ Event) []Action { return m.kill(now, AnnounceForce) }

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
	if soon := latest(now, m.notBefore); soon.Before(m.timers[snapshotTimer]) {
		m.timers[snapshotTimer] = soon
	}
	return nil
}

// snapshot is for orphans. While the stop delay lasts there can be none: no process has
// been signalled.
func (m *Machine) snapshot(now time.Time) []Action {
	m.setSnapshot(now)
	switch {
	case !m.timers[delayTimer].IsZero():
		return nil
	case m.lastCall:
		return []Action{{Kind: LastCall}}
	}
	return []Action{{Kind: SignalOrphans}}
}

func (m *Machine) setSnapshot(now time.Time) {
	m.timers[snapshotTimer] = now.Add(snapshotEvery)
	if m.lastCall && m.timers[delayTimer].IsZero() {
		m.timers[snapshotTimer] = now.Add(lastCallEvery)
	}
}

func (m *Machine) timersOfDraining(now time.Time, _ Event) (actions []Action) {
	if m.due(graceTimer, now) {
		return m.kill(now, AnnounceOver)
	}
	if m.due(delayTimer, now) {
		m.timers[delayTimer] = time.Time{}
		m.setSnapshot(now)
		actions = append(actions, Action{SignalWorker, m.signal}, Action{AnnounceSignaled, m.signal})
	}
	if m.due(lastCallTimer, now) {
		m.timers[lastCallTimer], m.lastCall = time.Time{}, true
		m.timers[snapshotTimer] = now
	}
	progress := m.due(progressTimer, now)
	if m.due(snapshotTimer, now) || progress && len(actions) == 0 { // it is to be seen for both
		actions = append(actions, m.snapshot(now)...)
	}
	if progress {
		m.timers[progressTimer] = now.Add(progressEvery)
		actions = append(actions, Action{Kind: AnnounceProgress})
	}
	return actions
}

// kill enters Killing, after a line that names what is left.
func (m *Machine) kill(now time.Time, why ActionKind) []Action {
	m.enter(phase.Killing)
	m.timers[killTimer] = now.Add(killEvery)
	m.timers[leaveTimer] = now.Add(KillingTime)
	return []Action{{Kind: why}, {Kind: KillTree}}
}

func (m *Machine) timersOfKilling(now time.Time, _ Event) []Action {
	switch {
	case m.due(leaveTimer, now):
		m.enter(phase.Done)
		return []Action{{Kind: AnnounceStuck}}
	case m.due(killTimer, now):
		m.timers[killTimer] = now.Add(killEvery)
		return []Action{{Kind: KillTree}}
	}
	return nil
}
