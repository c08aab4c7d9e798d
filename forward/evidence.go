package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// The conclusions of this file are what the rules rest on. Each is a claim about a process. After "Wrong if"
// stands what would make the claim false. A fact that is not known counts as "may".
// testdata/claims.tsv has the tests that try each claim, and testdata/guesses.tsv what is a guess.

// evidence is what the snapshots of a stop have shown of a process.
type evidence struct {
	everHandled   signals.Set // in any snapshot: a handler may be gone later (SA_RESETHAND, an exec)
	survived      signals.Set // ignored, blocked or pending in any snapshot, so none of them ended it
	alwaysIgnored signals.Set // ignored in every snapshot
	firstCall     proc.Call   // the call in its first snapshot

	isParent  bool // it had a child in any snapshot
	execed    bool // it has executed another program since it was first seen
	lostChild bool // a child of it has gone since it was signalled
	reads     bool // it has read a pipe that another process below drainit wrote to

	// The tick of a snapshot:
	adopted     uint64 // the first that showed it as an orphan, 0 if never or from the start
	readsUntil  uint64 // the last that showed a writer to the pipe that it reads
	asleepSince uint64 // the one since which it has not run
	sparedUntil uint64 // the one until which it is left alone for what is below it (isSpared)

	pause halt // of a process above it, since it came to drainit

	first, last   int32 // the first and last snapshot that showed it, by number, 0 for none
	lastUntouched int32 // the last snapshot that showed it untouched, 0 for none
	lastRun       int32 // the last snapshot that did not show that it had slept since the one before
	lastStarted   int32 // the last snapshot that showed a process below it which came in the stop
	lastForked    int32 // the last snapshot that showed a child of it which came in the stop
}

// halt is where a process was first seen to sleep.
type halt struct {
	of       *record
	at       proc.Call
	switches uint64 // how often it had been switched out by then
}

// isUntouched claims that no process has signalled m since the stop began. It claims nothing of a process
// that ignores the signal, which then does not wake it.
func (h *History) isUntouched(m *record) bool {
	return m.Untouched && m.On(h.signalFor(m)) != proc.Ignores
}

// isMissed claims that a platform that signals each process (--forward none) has not signalled m: m came
// after the first snapshot, or nothing has woken m. Wrong if m was signalled before the first snapshot, and
// has slept since.
func (m *record) isMissed() bool { return m.Untouched || m.first > 1 }

// mayHaveHandled reports whether a process may have had a handler for the signal at any time: a snapshot
// showed one, or no snapshot showed the process. Where /proc has no signal masks, a process had none if it
// died of the signal, or is a shell whose commands (-c) lack the word trap. A shell handles INT without a
// trap, too, so a shell that died of INT had none, whatever the masks show. Wrong if its trap ended in
// sending itself INT.
func (h *History) mayHaveHandled(m *record) bool {
	sig, isShell := h.reached(m), m.kind == program.Shell
	handled := h.handled(m) || m.everHandled.Has(sig)
	shows := m.MasksKnown() && !(sig == unix.SIGINT && isShell)
	isPlain := isShell && !m.MasksKnown() && !program.MayTrap(&m.Process)
	return m.first == 0 || handled && !isPlain && (shows || !h.diedOfIt(m))
}

// diedOfIt reports whether a process is known to have died of the signal that reached it.
func (h *History) diedOfIt(m *record) bool {
	return m.exit != nil && m.exit.Signal() == h.reached(m) // -1 for an exit
}

// reach returns how far a process is known to pass on the signal that has reached it.
func (h *History) reach(m *record) program.Reach {
	return program.Signals(&m.Process, h.reached(m))
}

// wouldBeDead claims that no process has forwarded the stop signal to m, since m would have died of it. This
// is claimed only if m never handled, ignored or blocked the signal: a process that blocks it may have taken
// it in sigwait(3), and be busy now. Yet m may have been asked to stop by other means.
func (h *History) wouldBeDead(m *record) bool {
	sent := signals.SetOf(h.deliver, h.signalFor(m))
	return !m.NestedInit && (m.everHandled|m.survived)&sent == 0
}

// mayBeSignalledWithGroup reports whether a process of m's process group may have signalled the group. m
// itself and the processes above it do not count. One that did had a handler and is not known to signal its
// children alone. drainit guesses that a process without children does not signal its group: else a or b of
// sh -c 'a & b' would be late.
func (h *History) mayBeSignalledWithGroup(m *record) bool {
	return h.anySent(func(p *record) bool {
		mayPass := p.sent.handled && p.isParent && !h.reach(p).OnlyChildren()
		return p.PGID == m.PGID && mayPass && !m.isBelow(p) && !h.sleptThrough(m, p)
	})
}

// startedBeside claims that the parent of an orphan does not know of it. A shell started the orphan in its
// background, and then executed the parent's program in its own place. This is a guess: without it, the
// server of server & exec worker would be late. Wrong if the parent signals its group.
func (h *History) startedBeside(m, parent *record) bool {
	if parent == nil {
		return false
	}
	was, _ := h.Start.Process(m.PID)
	inItsPlace := was.ID == m.ID && was.PPID == parent.PID // the parent has not adopted it since
	wasNoShell := parent.sent != nil && !parent.sent.shell
	isMarked := func(p *proc.Process) bool { return program.WasInBackground(p, &parent.Process) }
	return inItsPlace && wasNoShell && (isMarked(&was) || isMarked(&m.Process)) // its input is drainit's now
}

// hasHandled reports whether a process handled what drainit sent it, and hasTrap whether it is a shell, too.
// Both are false for nil.
func (m *record) hasHandled() bool { return m != nil && m.sent != nil && m.sent.handled }
func (m *record) hasTrap() bool    { return m.hasHandled() && m.kind == program.Shell }

// isOrphan reports whether a process is drainit's child, or that of another than at first: a subreaper below
// drainit has adopted it (PR_SET_CHILD_SUBREAPER).
func (h *History) isOrphan(m *record) bool {
	return m.PPID == h.self || m.parent != nil && m.PPID != m.parent.PID
}

// itsTurn returns the tick from which on a process would be signalled, but for the proof that no other has
// signalled it. That is when drainit adopted the orphan or, for a daemon from before the stop, when the work
// that it served had ended.
func (h *History) itsTurn(m *record) uint64 {
	if m.origin == beforeStop {
		return h.workEnded
	}
	return m.adopted
}

// leftBy returns the process that may have signalled an orphan before it went, nil if none was seen.
func (h *History) leftBy(m *record) *record {
	if m.origin == beforeStop {
		return h.worker
	}
	return m.parent
}

// cameAt returns the tick at which an orphan came to drainit. If its parent came to drainit as an orphan and
// was signalled, it returns the tick at which the parent came, and so on upwards. From then on a manager
// above had its time for both.
func (m *record) cameAt() uint64 {
	for up := m.parent; up != nil && up.sent != nil && up.adopted != 0; up = up.parent {
		m = up
	}
	return m.adopted
}

// reached returns the signal that has reached a process, or may have.
func (h *History) reached(m *record) unix.Signal {
	switch {
	case m.sent != nil:
		return m.sent.signal
	case m.isBelowLauncher():
		return unix.SIGTERM
	}
	return h.signalFor(m)
}

// handled reports whether a process handled what has reached it. Another may have sent it the stop signal.
func (h *History) handled(m *record) bool {
	if m.sent != nil {
		return m.sent.handled
	}
	mayBeSent := !m.isBelowLauncher() && m.everHandled.Has(h.deliver)
	return mayBeSent || m.everHandled.Has(h.reached(m))
}

// isBelowLauncher reports whether the parent of a process is a launcher, which is sent TERM, and sends no
// other signal.
func (m *record) isBelowLauncher() bool { return m.parent != nil && m.parent.kind == program.Launcher }

// sleptAtItsEnd reports whether a process that reads a pipe has not run since the last snapshot that showed a
// writer. So either it does not wait for input, or the input has not ended: the end of the last writer would
// have woken it.
func (m *record) sleptAtItsEnd() bool {
	return m.asleepSince <= m.readsUntil
}

// drains reports whether a process descends from the worker, and handles the signal that it would be sent, or
// once did. A shell that handles TERM without a trap does not drain.
func (h *History) drains(m *record) bool {
	handled := m.everHandled.Has(h.signalFor(m)) && !program.HandlesWithoutTrap(&m.Process)
	return handled && m.topmost().origin == root
}

// isBareLeaf reports whether a process would die of the signal, has no child and no reader of its output, and
// is neither a shell nor a launcher. Such a process may be a helper of the processes that drain.
func (h *History) isBareLeaf(m *record) bool {
	isLeaf := len(h.shown.Children(m.PID)) == 0 && !h.shown.IsRead(m.PID)
	return isLeaf && m.kind == program.Other && m.On(h.signalFor(m)) == proc.Dies
}

// mayBeStopping reports whether a process may have been asked to end already, by the one that left it, so
// that no signal is sent yet. If that was a shell with a trap, and the process is a leaf without a handler,
// the trap may have run a command that stops it (apachectl stop). The process has ten seconds then, but no
// more than half a second once it sleeps. A daemon from before the stop, and a process that a shell started
// beside its parent, have half a second, if the one that left them had a handler. Wrong if the process sleeps
// in its drain.
func (h *History) mayBeStopping(m *record) bool {
	up, sinceTurn := h.leftBy(m), h.now-h.itsTurn(m)
	if m.origin == beforeStop || h.startedBeside(m, up) {
		return up.hasHandled() && sinceTurn < aSecond/2
	}
	wasShell := up != nil && (up.kind == program.Shell || up.sent != nil && up.sent.shell)
	if !wasShell || !up.everHandled.Has(h.signalFor(up)) {
		return false
	}
	return h.isBareLeaf(m) && sinceTurn < 10*aSecond && h.now < m.asleepSince+aSecond/2
}

// cleansUp claims that an orphan is part of the cleaning up: it was started after a process above it handled
// the signal. If drainit has signalled none above it, a process of its session that handled the signal takes
// the place of that.
func (h *History) cleansUp(m *record) bool {
	if notified := m.nearestSignalled(); notified != nil {
		return notified.sent.handled && m.bornAfter(notified)
	}
	top := m.topmost()
	return h.anySent(func(p *record) bool { return p.sent.handled && p.SID == top.SID && top.bornAfter(p) })
}

// startedSibling claims that a sibling of an orphan lives that was started after drainit signalled a process
// above them. The sibling may be there to signal the orphan. If its parent was not seen, it counts as a
// sibling if it is of the same session. Wrong if it does something else, and the orphan is late.
func (h *History) startedSibling(m *record) bool {
	notified := m.nearestSignalled()
	for _, other := range h.living {
		siblings := other.parent == m.parent || other.parent == nil && other.SID == m.SID
		if notified != nil && siblings && other.bornAfter(notified) {
			return true
		}
	}
	return false
}

// workLives reports whether the worker lives, or a process that came from it: it may need the daemons.
func (h *History) workLives() bool {
	for _, m := range h.living {
		if m.topmost().origin == root {
			return true
		}
	}
	return h.alive(h.worker)
}

// anySent reports whether is returns true for any process that was signalled.
func (h *History) anySent(is func(*record) bool) bool {
	for _, p := range h.records {
		if p.sent != nil && is(p) {
			return true
		}
	}
	return false
}
