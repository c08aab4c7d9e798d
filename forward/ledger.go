package forward

import (
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// This file has who was sent what, and when: what is noted of a delivery, and what others ask about it.

// SentByPlatform notes a stop signal that a platform sends the worker itself.
func (h *History) SentByPlatform(sig unix.Signal) { h.got[sig] = Delivery{Signal: sig, Stop: true} }

// sentTo returns the last delivery of a signal to the worker, or that of the stop signal to another process,
// as StopTo does.
func (h *History) sentTo(pid int, sig unix.Signal) (d Delivery, ok bool) {
	if pid != h.pid {
		d, ok = h.StopTo(pid)
		return d, ok && d.Signal == sig
	}
	if d, ok = h.got[sig]; ok && d.Process.PID == 0 { // by the platform
		d.Process, _ = h.Start.Process(pid)
	}
	return d, ok
}

// StopTo returns the delivery of the stop signal to a child of drainit, or to a process that lives, as that
// was then. ok is false if there was none.
func (h *History) StopTo(pid int) (d Delivery, ok bool) {
	if m := h.unreaped(pid); m != nil && m.sent != nil {
		return m.delivery(), true
	}
	return d, false
}

// delivery returns that of the stop signal, as far as it is kept.
func (m *record) delivery() Delivery {
	d := Delivery{Process: m.Process, Signal: m.sent.signal, Stop: true, Tick: m.sent.tick}
	d.Process.Handled |= m.everHandled
	d.Late, d.Refused = m.sent.late, m.sent.refused
	return d
}

// Cause is the signal that has ended a process.
type Cause struct {
	By       unix.Signal   // it died of this, or its runtime has exited by it; 0 if it exited by itself
	Delivery               // by which drainit or the platform had sent it that, zero if none had
	After    time.Duration // from then on
}

// IsSent reports whether drainit or the platform had sent the signal that has ended a process.
func (c *Cause) IsSent() bool { return c.Signal != 0 }

// Cause returns what has ended a child of drainit, which Exited must not have noted yet. tick is the present
// time.
func (h *History) Cause(pid int, status unix.WaitStatus, tick uint64) Cause {
	by, code := max(0, status.Signal()), status.ExitStatus() // -1 for a signal
	switch {
	case code == 2:
		by = unix.SIGQUIT
	case code > 128:
		by = unix.Signal(code - 128)
	}
	d, sent := h.sentTo(pid, by)
	isExit := sent && tick < d.Tick+aSecond && program.ExitsBy(&d.Process, by, code)
	switch {
	case code >= 0 && !isExit:
		return Cause{}
	case !sent || d.Refused:
		return Cause{By: by}
	}
	return Cause{by, d, time.Duration(tick-d.Tick) * proc.Tick}
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

// Sent notes a delivery that was made or refused. Neither is made again in a stop. tick is proc.Ticks from
// before the delivery.
func (h *History) Sent(d Delivery, tick uint64) {
	d.Tick = tick
	if d.Process.PID == h.pid && !h.gone && d.Process.State != 'Z' { // a zombie has died of another's signal
		h.got[d.Signal] = d
	}
	if d.OnlyIfHandled {
		h.quieted[d.Process.ID] = d.Process
	}
	if !d.Stop {
		return
	}
	how := &sent{signal: d.Signal, late: d.Late, refused: d.Refused, snapshot: h.snapshots, tick: tick}
	if d.Target == ToGroup { // a process that was forked between the snapshot and the call is seen later
		h.toGroup = &sentToGroup{d.PGID, *how}
	}
	if h.Start == nil { // /proc could not be read
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
