package machine

import "time"

// The transitions of the table, in the order of the phases.

func run(m *Machine, now time.Time, _ Event) []Action {
	m.enter(Running)
	m.timers[inspectTimer] = now.Add(inspectAfter)
	return nil
}

func finish(m *Machine, _ time.Time, _ Event) []Action {
	m.enter(Done)
	return nil
}

func quiet(m *Machine, _ time.Time, _ Event) []Action {
	m.phase, m.timers[resumeTimer] = Quiet, time.Time{}
	return []Action{{Kind: QuietWorker}}
}

// resumeSoon puts the resume off for a moment after a CONT. A stop signal that was sent before may be
// received after the CONT, since the kernel gives them to two threads. A worker that is to stop must not take
// work again.
func resumeSoon(m *Machine, now time.Time, _ Event) []Action {
	if !m.isSet(resumeTimer) {
		m.timers[resumeTimer] = now.Add(ResumeAfter)
	}
	return nil
}

// timersOfRunning has the timers of running and quiet.
func timersOfRunning(m *Machine, now time.Time, _ Event) (actions []Action) {
	if m.expires(resumeTimer, now) {
		actions = append(actions, Action{Kind: ResumeWorker})
	}
	if m.expires(inspectTimer, now) {
		actions = append(actions, Action{Kind: Inspect})
	}
	return actions
}

// beginStop begins the drain at the first stop signal while the worker runs. If the worker is quiet already,
// there is no stop delay: load balancers send it no requests. A stop delay needs no snapshot for orphans: no
// process has been signalled.
func beginStop(m *Machine, now time.Time, e Event) []Action {
	delay := m.cfg.StopDelay
	if m.phase == Quiet {
		delay = 0
	}
	m.requested = e.At
	m.beginDrain(now, m.requested)
	switch {
	case e.Forced:
		return m.kill(now, ReasonForce)
	case m.cfg.Grace == 0:
		return m.kill(now, ReasonGrace)
	case delay > 0:
		m.timers[delayTimer], m.timers[snapshotTimer] = m.requested.Add(delay), time.Time{}
		return []Action{say(DrainBegins, e.Signal), {Kind: QuietWorker}}
	}
	return []Action{{Kind: SignalWorker}, say(DrainBegins, e.Signal)}
}

// drainWhatIsLeft begins the drain of what a worker that exited by itself has left, or the kill if drainit
// ends with the worker.
func drainWhatIsLeft(m *Machine, now time.Time, _ Event) []Action {
	if m.cfg.EndsWithWorker {
		return m.kill(now, ReasonWorkerOnly)
	}
	m.beginDrain(now, now)
	if m.Grace() == 0 {
		return append([]Action{say(WorkerEnded, 0)}, m.kill(now, ReasonGrace)...)
	}
	return []Action{say(WorkerEnded, 0), {Kind: SignalOrphans}}
}

func (m *Machine) beginDrain(now, since time.Time) {
	m.enter(Draining)
	m.timers[progressTimer] = now.Add(progressEvery)
	m.startGrace(since)
	m.timers[snapshotTimer] = now.Add(snapshotEvery)
}

func (m *Machine) startGrace(since time.Time) {
	clear(m.timers[graceTimer:progressTimer]) // those of the last and the final call as well
	m.call = SignalOrphans
	if grace := m.Grace(); grace < Forever {
		m.timers[graceTimer] = since.Add(grace)
		m.timers[lastCallTimer], m.timers[finalCallTimer] = m.CallTimes()
	}
}

// Calls returns how long after the stop signal the last and the final call come. The last call comes in the
// last quarter of the grace period, or of the platform's limit if that is shorter. The final call comes in
// the last tenth of the grace period, whatever the limit is: before the limit it would cut short a worker
// that drains up to it. A limit of 0 is none. For a grace period of Forever the times mean nothing.
func Calls(grace, limit time.Duration) (last, final time.Duration) {
	until := grace
	if limit > 0 {
		until = min(grace, limit)
	}
	return until - min(lastCallTime, until/4), grace - min(finalCallTime, grace/10)
}

// stopAgain takes a stop signal in a drain. It is the first one if the drain began because the worker exited.
// Soon after the first (SameRequest) it is the same request once more. Later it is a force-stop, unless a
// second one is ignored (SecondStopIgnored). One from drainit stop --force is a force-stop at any time.
func stopAgain(m *Machine, now time.Time, e Event) []Action {
	first := !m.Requested()
	if first {
		m.requested = e.At
	}
	switch {
	case e.Forced:
		return m.kill(now, ReasonForce)
	case first:
		m.startGrace(e.At) // not 0: such a machine never drains
		return []Action{say(GraceBegins, e.Signal)}
	case e.At.Sub(m.requested) < SameRequest:
		return []Action{say(SameStop, e.Signal)}
	case m.cfg.SecondStopIgnored:
		return []Action{say(StopIgnored, e.Signal)}
	}
	return m.kill(now, ReasonSecondStop)
}

// lostWorker goes on with a drain in which the worker has ended, without the stop delay. If drainit ends with
// the worker, the kill comes at once.
func lostWorker(m *Machine, now time.Time, _ Event) []Action {
	if m.cfg.EndsWithWorker {
		return m.kill(now, ReasonWorkerOnly)
	}
	m.timers[delayTimer] = time.Time{}
	return m.snapshot(now)
}

// snapshotNow brings the next snapshot forward to the earliest time that the pause allows (Machine.at). A
// process has died, and its children may be orphans now. All deaths until then share that snapshot.
func snapshotNow(m *Machine, now time.Time, _ Event) []Action {
	if now.Before(m.timers[snapshotTimer]) { // it is set
		m.timers[snapshotTimer] = now
	}
	return nil
}

// snapshot returns the action for a snapshot for orphans: the last or the final call if its time has come.
func (m *Machine) snapshot(now time.Time) []Action {
	m.timers[snapshotTimer] = now.Add(snapshotEvery)
	return []Action{{Kind: m.call}}
}

func timersOfDraining(m *Machine, now time.Time, _ Event) (actions []Action) {
	if m.due(graceTimer, now) {
		return m.kill(now, ReasonGrace)
	}
	before := m.call
	if m.expires(lastCallTimer, now) {
		m.call = LastCall
	}
	if m.expires(finalCallTimer, now) {
		m.call = FinalCall
	}
	look := m.call != before || m.due(snapshotTimer, now)
	// A line of progress costs no snapshot of its own where one is due.
	progress := m.due(progressTimer, now) || look && !now.Before(m.timers[progressTimer])
	switch delayed := m.isSet(delayTimer); {
	case m.expires(delayTimer, now):
		m.timers[snapshotTimer] = now.Add(snapshotEvery)
		actions = []Action{{Kind: SignalWorker}, say(DelayOver, m.signal)}
	case !delayed && (look || progress): // both need a snapshot
		actions = m.snapshot(now)
	}
	if progress {
		m.timers[progressTimer] = now.Add(progressEvery)
		actions = append(actions, say(Progress, 0))
	}
	return actions
}

// kill enters Killing.
func (m *Machine) kill(now time.Time, why Reason) []Action {
	m.enter(Killing)
	m.timers[killTimer] = now.Add(killEvery)
	m.timers[leaveTimer] = now.Add(KillingTime)
	return []Action{{Kind: KillTree, Reason: why}}
}

func timersOfKilling(m *Machine, now time.Time, _ Event) []Action {
	switch {
	case m.due(leaveTimer, now):
		m.enter(Done)
		return []Action{{Kind: GiveUp}}
	case m.due(killTimer, now):
		m.timers[killTimer] = now.Add(killEvery)
		return []Action{{Kind: KillTree}}
	}
	return nil
}
