package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// This file has who was sent what, and when: what is noted of a delivery, and what others ask about it.

// Got returns the last delivery of a signal to the worker. ok is false if the worker was sent none.
func (h *History) Got(sig unix.Signal) (d Delivery, ok bool) {
	d, ok = h.got[sig]
	return d, ok
}

// SentByPlatform notes a stop signal that a platform sends the worker itself.
func (h *History) SentByPlatform(sig unix.Signal) { h.got[sig] = Delivery{Signal: sig, Stop: true} }

// SentTo returns the stop signal that a child of drainit was sent, and when, by proc.Ticks. It returns no
// signal for a child that was sent none, and a pid alone for a worker that no snapshot has shown.
func (h *History) SentTo(pid int) (p proc.Process, sig unix.Signal, tick uint64) {
	switch m := h.unreaped(pid); {
	case m != nil && m.sent != nil:
		return m.Process, m.sent.signal, m.sent.tick
	case m == nil && h.early != nil && pid == h.pid:
		return proc.Process{ID: proc.ID{PID: pid}}, h.early.signal, h.early.tick
	}
	return p, 0, 0
}

// Explain returns why a child of drainit was not signalled so far, once for each. It returns "" if the child
// was, or if another process may have signalled it: of that there is a line (Unsignalled).
func (h *History) Explain(pid int) (why string) {
	m := h.living[pid]
	isOurs := m != nil && m.PPID == h.self && m.sent == nil
	if !isOurs || m.explained || m.undecided() {
		return ""
	}
	m.explained = true
	return m.why.String()
}

// Sent notes a delivery that was made, or that is not permitted (EPERM). Neither is made again in a stop.
// tick is proc.Ticks from before the delivery.
func (h *History) Sent(d Delivery, tick uint64) {
	if d.Process.PID == h.pid && !h.gone && d.Process.State != 'Z' { // a zombie has died of another's signal
		h.got[d.Signal] = d
	}
	if d.OnlyIfHandled {
		h.quieted[d.Process.ID] = d.Process
	}
	if !d.Stop {
		return
	}
	how := &sent{signal: d.Signal, snapshot: h.snapshots, tick: tick}
	if d.Target == ToGroup { // a process that was forked between the snapshot and the call is seen later
		h.toGroup = &sentToGroup{d.PGID, *how}
	}
	if h.Start == nil { // /proc could not be read
		h.early = how
		return
	}
	for _, p := range d.Reached() {
		m := h.records[p.ID]
		if m == nil { // it came after the snapshot
			m = &record{Process: proc.Process{ID: p.ID}}
			h.records[p.ID] = m
		}
		if m.sent == nil {
			m.markSent(*how)
		}
	}
}

// sentWithGroup reports whether a new process was signalled with its group. A fork that was under way gives
// its child the signal and a later start (kernel/fork.c, copy_process). On a busy machine the start may be
// much later. By then the parent has died of the signal, and the new process is drainit's child.
func (h *History) sentWithGroup(m *record) bool {
	underWay := uint64(10) // ticks
	if m.PPID == h.self {
		underWay = 1000
	}
	return h.toGroup != nil && m.PGID == h.toGroup.pgid && m.Start <= h.toGroup.tick+underWay
}
