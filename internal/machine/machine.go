// Package machine has the phases of a worker's life under drainit: which comes when.
//
// It owns the order of the phases, and when each step of quiet, drain and kill comes, as data. It must never
// do I/O, read a clock or start anything. It gets an event and its time, and returns the actions, so that
// tests can walk all of its states.
package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// DefaultGrace is the grace period if none is set, and Forever one that never ends.
const (
	DefaultGrace = 35 * time.Second
	Forever      = time.Duration(1<<63 - 1)
)

// Times that no flag changes.
const (
	SameRequest   = 100 * time.Millisecond // this soon after the first it is the same request (sigqueue, too)
	ResumeAfter   = 50 * time.Millisecond  // a stop signal that was sent before a CONT has come by then
	CrashGrace    = 30 * time.Second       // the longest grace period after the worker exited by itself
	KillingTime   = 5 * time.Second        // what outlives SIGKILL for this long is in state D
	killEvery     = 50 * time.Millisecond  // SIGKILL again, as processes fork meanwhile
	inspectAfter  = 10 * time.Second       // an entrypoint has migrated by then, and become the worker
	progressEvery = 5 * time.Second        // a line of progress while draining
	lastCallTime  = 10 * time.Second       // the last call comes this long before the kill, at most
	finalCallTime = 2 * time.Second        // likewise the final call
	snapshotEvery = time.Second            // for orphans: adoption gives no SIGCHLD
	snapshotRare  = 5 * time.Second        // where the death of each parent is known at once
	snapshotSoon  = 60 * time.Millisecond  // after a signal: its handler has run by then
)

// The cost of snapshots is bounded. A long snapshot is followed by a pause, a multiple of the time that it
// took. After a short snapshot the next may come within 2 ms: whether an orphan may be signalled is mostly
// shown soon after it came, or not at all.
const (
	longSnapshot  = 5 * time.Millisecond
	snapshotApart = 2 * time.Millisecond // after a short one, however many children end
	share         = 4                    // the pause after a long one, as a multiple of its time
	idleShare     = 120                  // likewise in a drain in which nothing happens
)

// timer is one of the deadlines of a machine.
type timer uint8

const (
	inspectTimer   timer = iota
	resumeTimer          // the moment after a CONT is over
	delayTimer           // the stop delay is over
	graceTimer           // the grace period is over
	lastCallTimer        // the grace period is nearly over
	finalCallTimer       // the kill is near
	progressTimer
	snapshotTimer
	killTimer
	leaveTimer // drainit ends, even if something still lives
	timerCount
)

// Machine has the phase, its timers and what they depend on.
type Machine struct {
	cfg Config

	phase     Phase
	ready     bool                  // the worker is, or no one asks
	timers    [timerCount]time.Time // zero if not set
	requested time.Time             // when the first stop signal came, zero for none
	signal    unix.Signal           // the first stop signal, 0 for none
	looked    time.Time             // when the last snapshot was complete
	took      time.Duration         // how long that one took, 0 for a short one
	acted     time.Time             // when the last signal of the stop was sent
	call      ActionKind            // what the next snapshot is for: SignalOrphans, LastCall or FinalCall
}

// Config has those settings of a machine that come from flags.
type Config struct {
	Grace             time.Duration // 0 to Forever
	Limit             time.Duration // the platform's, if that may kill before the grace is over; else 0
	StopDelay         time.Duration // shorter than the grace period
	SecondStopIgnored bool          // a second stop signal does not kill
	EndsWithWorker    bool          // the processes that the worker leaves are killed at once
}

// New returns a machine in phase Starting.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// Phase returns the phase that the machine is in. A worker that runs and is not ready is Starting.
func (m *Machine) Phase() Phase {
	if m.phase == Running && !m.ready {
		return Starting
	}
	return m.phase
}

// Grace returns how long after the beginning of the drain the kill comes. The drain begins with the first
// stop signal, or with the end of a worker that exited by itself. In the second case the time is CrashGrace
// at most. A stop signal that comes later begins the grace period anew.
func (m *Machine) Grace() time.Duration {
	if !m.Requested() {
		return min(m.cfg.Grace, CrashGrace)
	}
	return m.cfg.Grace
}

// Requested reports whether a stop signal has come.
func (m *Machine) Requested() bool { return !m.requested.IsZero() }

// RequestedAt returns when the first stop signal came, and the zero time if none has come.
func (m *Machine) RequestedAt() time.Time { return m.requested }

// StopSignal returns the first stop signal that came, before any rewrite, and 0 for none.
func (m *Machine) StopSignal() unix.Signal { return m.signal }

// GraceEnd returns the end of the grace period. ok is false if none has begun, or if it never ends.
func (m *Machine) GraceEnd() (t time.Time, ok bool) { return m.timers[graceTimer], m.isSet(graceTimer) }

// CallTimes returns when the last and the final call come or came. It is for a grace period that ends
// (GraceEnd).
func (m *Machine) CallTimes() (last, final time.Time) {
	grace := m.Grace()
	began := m.timers[graceTimer].Add(-grace)
	toLast, toFinal := Calls(grace, m.cfg.Limit)
	return began.Add(toLast), began.Add(toFinal)
}

// Deadline returns the earliest time at which Step wants a TimePassed. ok is false if there is none.
func (m *Machine) Deadline() (earliest time.Time, ok bool) {
	for t := range timerCount {
		if at := m.at(t); m.isSet(t) && (!ok || at.Before(earliest)) {
			earliest, ok = at, true
		}
	}
	return earliest, ok
}

// SnapshotTook notes that a snapshot was complete at now, and took so long. What is noted decides when the
// next one may be taken, see pauseEnd. After a long snapshot, a short one is not noted before the pause of
// the long one is over: the long one shows what a snapshot costs.
func (m *Machine) SnapshotTook(now time.Time, took time.Duration) {
	if took <= longSnapshot {
		took = 0
	}
	if took > 0 || !now.Before(m.pauseEnd(share)) {
		m.looked, m.took = now, took
	}
}

// BusyUntil returns the earliest time at which a signal may cost a read of /proc. A stop signal may cost one
// at any time.
func (m *Machine) BusyUntil() time.Time { return m.looked.Add(share * m.took) }

// pauseEnd returns the end of the pause after the last snapshot. After a long one, the pause is as many times
// as long as the snapshot took. After a short one, it is snapshotApart.
func (m *Machine) pauseEnd(times time.Duration) time.Time {
	return m.looked.Add(max(times*m.took, snapshotApart))
}

// Ready notes that the worker is ready, now or as soon as it runs.
func (m *Machine) Ready() { m.ready = true }

// Resumed ends quiet: the processes that were quieted take work again.
func (m *Machine) Resumed() { m.phase = Running }

// Observed sets the time of the next snapshot of a drain in which no child dies. It comes soon after a signal
// was sent, as acted says. Each later one waits for half of the time that has passed since, and for a second
// at most. If watched, the death of each process that can leave an orphan will be known, and the snapshots
// are rarer. If again is positive, the snapshot comes no later than that.
func (m *Machine) Observed(now time.Time, acted bool, again time.Duration, watched bool) {
	if acted {
		m.acted = now
	}
	wait := max(now.Sub(m.acted)/2, snapshotSoon)
	switch {
	case !watched || m.call == LastCall || m.call == FinalCall:
		wait = min(wait, snapshotEvery)
	case !acted: // nothing happens
		wait = max(min(wait, snapshotRare), idleShare*m.took)
	}
	if again > 0 {
		wait = min(wait, again)
	}
	m.timers[snapshotTimer] = now.Add(wait)
}

// enter changes the phase, and unsets all timers: none outlives its phase.
func (m *Machine) enter(p Phase) { m.phase, m.timers = p, [timerCount]time.Time{} }

// expires reports whether a timer is due, and unsets it then.
func (m *Machine) expires(t timer, now time.Time) bool {
	due := m.due(t, now)
	if due {
		m.timers[t] = time.Time{}
	}
	return due
}

func (m *Machine) isSet(t timer) bool { return !m.timers[t].IsZero() }

// at returns when a timer is due. A snapshot waits until the pause after the last snapshot is over, and so
// does a line of progress, which needs a snapshot.
func (m *Machine) at(t timer) time.Time {
	switch t {
	case snapshotTimer:
		return latest(m.timers[t], m.pauseEnd(share))
	case progressTimer:
		return latest(m.timers[t], m.pauseEnd(idleShare))
	}
	return m.timers[t]
}

func (m *Machine) due(t timer, now time.Time) bool { return m.isSet(t) && !now.Before(m.at(t)) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
