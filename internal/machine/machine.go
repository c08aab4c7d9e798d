// Package machine is the phases of a worker's life under drainit: what comes when.
//
// It owns the phases' order and every deadline, as data. It must never do I/O, read a
// clock or start anything: it is given what happened and when, and returns what to do, so
// that all of its states can be walked.
package machine

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// Forever is a grace that never ends.
const Forever = time.Duration(1<<63 - 1)

// Times that no flag changes.
const (
	SameRequest   = 100 * time.Millisecond // a stop signal this soon after the first is the same request
	ResumeAfter   = 50 * time.Millisecond  // a stop signal that was sent before a CONT has come by then
	CrashGrace    = 30 * time.Second       // the longest grace of leftovers whose worker exited by itself
	progressEvery = 5 * time.Second        // of draining
	inspectAfter  = 10 * time.Second       // an entrypoint has migrated by then, and become the worker
	snapshotEvery = time.Second            // for orphans: adoption gives no SIGCHLD
	snapshotRare  = 5 * time.Second        // where the death of each parent is known at once
	lastCallEvery = 100 * time.Millisecond // when the grace period is nearly over
	snapshotApart = 2 * time.Millisecond   // between two snapshots, however many children end
	lastCallTime  = 5 * time.Second        // before the kill, at most
	killEvery     = 50 * time.Millisecond  // they fork meanwhile
	KillingTime   = 5 * time.Second        // then something is in state D
	LongSnapshot  = 5 * time.Millisecond   // from here on the time of snapshots is bounded
)

// timer is one of the deadlines of a machine.
type timer uint8

const (
	inspectTimer  timer = iota
	resumeTimer         // a CONT has come
	delayTimer          // the stop delay is over
	graceTimer          // the grace is over
	lastCallTimer       // the grace period is nearly over
	progressTimer
	snapshotTimer
	killTimer
	leaveTimer // even if something still lives
	timerCount
)

// Machine is the phases and their timers, as data: Step takes what happened and when, and
// returns what to do. It does no I/O, reads no clock and starts nothing.
type Machine struct {
	cfg Config

	phase     phase.Phase
	timers    [timerCount]time.Time // zero: not set
	requested time.Time             // when the first stop signal came
	signal    unix.Signal           // which that was
	lastCall  bool                  // the grace period is nearly over
	notBefore time.Time             // the next snapshot: the more there is, the more one costs
	busyUntil time.Time             // the same, where that was a long one
	idleUntil time.Time             // the same, where nothing happens
}

// Config is what flags change of a machine.
type Config struct {
	Grace             time.Duration // 0 to Forever
	StopDelay         time.Duration // shorter than the grace
	SecondStopIgnored bool          // a second stop signal is no force-stop
	EndsWithWorker    bool          // what the worker leaves is killed at once
}

// New returns a machine in phase Starting.
func New(cfg Config) *Machine { return &Machine{cfg: cfg} }

// Phase is the phase the machine is in.
func (m *Machine) Phase() phase.Phase { return m.phase }

// Grace is the time from the first stop signal to the kill.
func (m *Machine) Grace() time.Duration { return m.cfg.Grace }

// Requested reports whether a stop signal has come, and when the first did.
func (m *Machine) Requested() (time.Time, bool) { return m.requested, !m.requested.IsZero() }

// StopSignal is the first stop signal that came, before any rewrite; 0 for none.
func (m *Machine) StopSignal() unix.Signal { return m.signal }

// GraceEnd is when the grace is over; ok is false while it never is.
func (m *Machine) GraceEnd() (t time.Time, ok bool) {
	return m.timers[graceTimer], !m.timers[graceTimer].IsZero()
}

// Deadline is the earliest time at which Step wants a TimePassed; ok is false
// if there is none.
func (m *Machine) Deadline() (earliest time.Time, ok bool) {
	for _, t := range m.timers {
		if !t.IsZero() && (earliest.IsZero() || t.Before(earliest)) {
			earliest = t
		}
	}
	return earliest, !earliest.IsZero()
}

// SnapshotTook notes that a snapshot has taken so long, until now. The next one waits for
// a multiple of that, so that snapshots never fill the time of a drain; one that nothing has
// happened for waits longer. Of a few processes it may come at once: what is proven of an
// orphan is proven soon or not at all.
func (m *Machine) SnapshotTook(now time.Time, took time.Duration) {
	const share, idleShare = 4, 60
	m.notBefore = now.Add(snapshotApart)
	m.idleUntil = m.notBefore
	if took > LongSnapshot {
		m.busyUntil = now.Add(share * took)
		m.notBefore, m.idleUntil = m.busyUntil, now.Add(idleShare*took)
	}
	m.putOff(snapshotTimer, m.notBefore)
	m.putOff(progressTimer, m.idleUntil)
}

func (m *Machine) putOff(t timer, until time.Time) {
	if at := m.timers[t]; !at.IsZero() {
		m.timers[t] = latest(at, until)
	}
}

// BusyUntil is until when no snapshot is to be taken, whatever signal comes: the last one
// took long. A stop signal is an exception.
func (m *Machine) BusyUntil() time.Time { return m.busyUntil }

// Observed says when the next snapshot of a drain is due though no child dies: again is
// when processes that have not reacted are checked again, 0 for never; watched is whether the
// death of each process that can leave an orphan will be known.
func (m *Machine) Observed(now time.Time, again time.Duration, watched bool) {
	if m.timers[snapshotTimer].IsZero() {
		return
	}
	next, notBefore := m.timers[snapshotTimer], m.notBefore
	switch {
	case watched && m.lastCall:
		next = now.Add(snapshotEvery)
	case watched:
		next = now.Add(snapshotRare)
	}
	if again > 0 && now.Add(again).Before(next) {
		next = now.Add(again)
	}
	if watched && !m.lastCall && (again == 0 || again >= snapshotEvery) {
		notBefore = m.idleUntil
	}
	m.timers[snapshotTimer] = latest(next, notBefore)
}

// enter changes the phase. No timer of a phase outlives it, but for the one that running
// and quiet share.
func (m *Machine) enter(p phase.Phase) {
	m.phase = p
	inspect := m.timers[inspectTimer]
	m.timers = [timerCount]time.Time{}
	if p <= phase.Quiet {
		m.timers[inspectTimer] = inspect
	}
}

func (m *Machine) due(t timer, now time.Time) bool {
	return !m.timers[t].IsZero() && !now.Before(m.timers[t])
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
