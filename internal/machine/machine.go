// Package machine has the phases of a worker's life under drainit: which comes when.
//
// It owns the order of the phases and every deadline, as data. It must never do I/O, read a clock or start
// anything. It gets an event and its time, and returns the actions, so that tests can walk all of its states.
package machine

import (
	"time"

	"golang.org/x/sys/unix"
)

// Forever is a grace period that never ends.
const Forever = time.Duration(1<<63 - 1)

// Times that no flag changes.
const (
	SameRequest   = 100 * time.Millisecond // a stop signal this soon after the first is the same request
	ResumeAfter   = 50 * time.Millisecond  // a stop signal that was sent before a CONT has come by then
	CrashGrace    = 30 * time.Second       // the longest grace period after the worker exited by itself
	KillingTime   = 5 * time.Second        // then something is in state D
	killEvery     = 50 * time.Millisecond  // they fork meanwhile
	inspectAfter  = 10 * time.Second       // an entrypoint has migrated by then, and become the worker
	progressEvery = 5 * time.Second        // of draining
	lastCallTime  = 10 * time.Second       // before the kill, at most
	finalCallTime = 2 * time.Second        // likewise
	lastCallEvery = 100 * time.Millisecond // a snapshot for it
	snapshotEvery = time.Second            // for orphans: adoption gives no SIGCHLD
	snapshotRare  = 5 * time.Second        // where the death of each parent is known at once
	snapshotSoon  = 60 * time.Millisecond  // after a signal: its handler has run by then
)

// The cost of snapshots is bounded: after a long one nothing is read for a multiple of its
// time. After a short one the next may come at once: what is proven of an orphan is proven soon
// or not at all.
const (
	longSnapshot  = 5 * time.Millisecond
	snapshotApart = 2 * time.Millisecond // after a short one, however many children end
	share         = 4                    // times as long as it took
	idleShare     = 120                  // in a drain in which nothing happens
)

// timer is one of the deadlines of a machine.
type timer uint8

const (
	inspectTimer   timer = iota
	resumeTimer          // a CONT has come
	delayTimer           // the stop delay is over
	graceTimer           // the grace period is over
	lastCallTimer        // the grace period is nearly over
	finalCallTimer       // the kill is near
	progressTimer
	snapshotTimer
	killTimer
	leaveTimer // even if something still lives
	timerCount
)

// Machine is the phases and their timers.
type Machine struct {
	cfg Config

	phase     Phase
	timers    [timerCount]time.Time // zero: not set
	requested time.Time             // when the first stop signal came
	signal    unix.Signal           // which that was
	looked    time.Time             // when the last snapshot was complete
	took      time.Duration         // how long that one took, 0 for a short one
	acted     time.Time             // when the last signal of the stop was sent
	calls     [2]time.Time          // when the last and the final call come
}

// Config has the settings of a machine that flags change.
type Config struct {
	Grace             time.Duration // 0 to Forever
	Limit             time.Duration // the platform's, which may kill before the grace period is over; 0 if it is later
	StopDelay         time.Duration // shorter than the grace period
	SecondStopIgnored bool          // a second stop signal does not kill
	EndsWithWorker    bool          // the processes that the worker leaves are killed at once
}

// New returns a machine in phase Starting.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// Phase is the phase the machine is in.
func (m *Machine) Phase() Phase { return m.phase }

// Grace is the time from the first stop signal, or from the end of a worker that exited by itself, to the kill.
func (m *Machine) Grace() time.Duration {
	if m.requested.IsZero() {
		return min(m.cfg.Grace, CrashGrace)
	}
	return m.cfg.Grace
}

// Requested reports whether a stop signal has come, and when the first did.
func (m *Machine) Requested() (time.Time, bool) { return m.requested, !m.requested.IsZero() }

// StopSignal is the first stop signal that came, before any rewrite; 0 for none.
func (m *Machine) StopSignal() unix.Signal { return m.signal }

// GraceEnd is the end of the grace period; ok is false if it has none.
func (m *Machine) GraceEnd() (t time.Time, ok bool) { return m.timers[graceTimer], m.isSet(graceTimer) }

// CallAt is when the last or the final call comes or came, for a grace period that ends.
func (m *Machine) CallAt(final bool) time.Time {
	if final {
		return m.calls[1]
	}
	return m.calls[0]
}

// Deadline is the earliest time at which Step wants a TimePassed; ok is false if there is none.
func (m *Machine) Deadline() (earliest time.Time, ok bool) {
	for t := range timerCount {
		if at := m.at(t); m.isSet(t) && (!ok || at.Before(earliest)) {
			earliest, ok = at, true
		}
	}
	return earliest, ok
}

// SnapshotTook notes that a snapshot took so long, until now. A short snapshot does not make up for a long one
// before it.
func (m *Machine) SnapshotTook(now time.Time, took time.Duration) {
	if took <= longSnapshot {
		took = 0
	}
	if took > 0 || !now.Before(m.pauseEnd(share)) {
		m.looked, m.took = now, took
	}
}

// BusyUntil is the earliest time at which a signal may cost a read of /proc, except a stop signal.
func (m *Machine) BusyUntil() time.Time { return m.looked.Add(share * m.took) }

// pauseEnd is the end of the pause after the last snapshot: times its duration if that was long, else snapshotApart.
func (m *Machine) pauseEnd(times time.Duration) time.Time {
	return m.looked.Add(max(times*m.took, snapshotApart))
}

// Observed sets the time of the next snapshot of a drain in which no child dies. It comes soon if a signal was
// sent or is about to be, and later the longer none was. watched says that the death of each process that can
// leave an orphan will be known.
func (m *Machine) Observed(now time.Time, acted, watched bool) {
	if acted {
		m.acted = now
	}
	next, every := m.acted.Add(snapshotSoon), m.every(watched)
	if !next.After(now) {
		next = now.Add(min(max(now.Sub(m.acted)/2, snapshotEvery), every))
	}
	if watched && !m.lastCall() && next.Sub(now) >= snapshotEvery { // nothing happens
		next = latest(next, m.pauseEnd(idleShare))
	}
	m.timers[snapshotTimer] = next
}

// every is how often a drain takes a snapshot though no child dies.
func (m *Machine) every(watched bool) time.Duration {
	switch {
	case m.lastCall() && !watched:
		return lastCallEvery
	case m.lastCall() || !watched:
		return snapshotEvery
	}
	return snapshotRare
}

// lastCall reports whether the grace period is nearly over, finalCall whether the kill is near.
func (m *Machine) lastCall() bool  { return m.isSet(graceTimer) && !m.isSet(lastCallTimer) }
func (m *Machine) finalCall() bool { return m.isSet(graceTimer) && !m.isSet(finalCallTimer) }

// enter changes the phase, whose timers none outlives.
func (m *Machine) enter(p Phase) { m.phase, m.timers = p, [timerCount]time.Time{} }

func (m *Machine) isSet(t timer) bool { return !m.timers[t].IsZero() }

// at is when a timer is due: a snapshot, and a line that needs one, after the pause.
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
