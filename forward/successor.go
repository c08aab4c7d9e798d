package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// Successor is a process that took the worker's place. Its exit status counts.
type Successor struct {
	proc.Process
	Exit *unix.WaitStatus // nil while it lives
}

// mostDeferred bounds the snapshots for which the choice of a successor is put off.
const mostDeferred = 3

// PromoteSuccessor makes the worker's successor the worker, then the successor of that, and so on. It returns
// the last one, nil for none. A shell or a launcher that died of drainit's signal says nothing about the
// work. If exactly one process that came from it may be the work, the status of that one counts, though it
// may have ended since. The first snapshot after the death decides. The decision is put off by mostDeferred
// snapshots at most while a signalled process has still to say how it died. now says that there will be no
// other snapshot.
func (h *History) PromoteSuccessor(now bool) (last *Successor) {
	for {
		w := h.worker
		if w == nil || w.succeeded || w.kind == program.Other || !h.diedOfIt(w) {
			return last
		}
		if !now && h.deferred < mostDeferred && h.anySent(h.isUnreaped) {
			h.deferred++
			return last
		}
		w.succeeded, h.deferred = true, 0
		these := h.candidates()
		if len(these) != 1 {
			return last
		}
		m := these[0]
		h.pid, h.gone = m.PID, m.exit != nil
		h.worker, last = m, &Successor{Process: m.Process, Exit: m.exit}
		clear(h.got)
		if m.sent != nil {
			h.got[m.sent.signal] = m.delivery()
		}
	}
}

// isUnreaped reports whether a process is dead and has still to say how it died: drainit will wait
// for it, if the one above it has not.
func (h *History) isUnreaped(m *record) bool {
	return m.exit == nil && h.living[m.PID] != m && !h.alive(m.parent)
}

// candidates returns the processes, dead or alive, that may succeed the worker. They descend from it, and not
// from a daemon that is older than the stop, and they handle the signal. What cleans up, or reads what a
// living process writes, is none. If there is no such process, candidates returns the shells and launchers
// instead, of which one may have a successor itself.
func (h *History) candidates() (these []*record) {
	var passing []*record
	for _, m := range h.records {
		hasTrap := m.Handles(unix.SIGTERM) && !program.HandlesWithoutTrap(&m.Process)
		isShell := m.kind == program.Shell && !hasTrap
		handles := !isShell && (m.Handles(h.deliver) || m.everHandled.Has(h.deliver) && !m.execed)
		dying := m.kind == program.Launcher && m.sent != nil
		isChild := m.PPID == h.self && h.living[m.PID] == m
		hasEnded := m.exit != nil && m.sent != nil && !m.succeeded
		switch {
		case !isChild && !hasEnded, m.topmost().origin != root:
		case m.sent == nil && h.cleansUp(m), h.hasWriter(m):
		case handles && !dying:
			these = append(these, m)
		case m.kind != program.Other:
			passing = append(passing, m)
		}
	}
	if len(these) == 0 {
		return passing
	}
	return these
}
