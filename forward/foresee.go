package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Simulated says how a stop would treat one process.
type Simulated struct {
	Signal    unix.Signal // the signal that it would be sent, 0 for none
	Now       bool        // at once, or when a process above it has died of the signal or can't act upon it
	Busy      string      // the reason why it waits if it is busy, "" if it is signalled now all the same
	Rule      string      // the reason why it is signalled now, or waits
	Else      Purpose     // LastCall or FinalCall if that would signal it otherwise, Stop for none
	Delegated bool        // another is expected to signal it, or its turn comes when that has ended
}

// Simulate plays a stop for a history that has none yet, and returns how the stop would treat the processes.
// The stop begins at the snapshot first, and goes on with s, which was taken moments later. What has changed
// in between shows that a shell does not wait. A process without a handler dies of the signal at once, and
// all others live on. Simulate plays the stop as if all processes slept, and then as if none did, whatever
// they do now. A process that is signalled now in the first play alone is not certain. A third play, in which
// the traps of busy shells run, may only make a call the final one.
func (h *History) Simulate(r Request, first, s *proc.Snapshot) map[proc.ID]Simulated {
	all, busy := h.foresee(r, first, s, true, false), h.foresee(r, first, s, false, false)
	trapped := h.foresee(r, first, s, false, true)
	for id, f := range all {
		its := busy[id]
		if f.Else = max(f.Else, its.Else); f.Else == LastCall {
			f.Else = max(f.Else, trapped[id].Else)
		}
		if f.Now && !its.Now {
			f.Busy = its.Rule
		}
		all[id] = f
	}
	return all
}

// foresee plays the stop once. idle says whether all processes sleep or none does, and trapped whether each
// shell that handles the signal runs its trap, whatever it waits for.
func (h *History) foresee(r Request, first, s *proc.Snapshot, idle, trapped bool) map[proc.ID]Simulated {
	self, all := h.self, make(map[proc.ID]Simulated)
	h = &History{self: self, leader: h.leader}
	shown := first.After(self, func(p *proc.Process) bool { p.Untouched = canRest(p) && idle; return false })
	for r.Purpose = Stop; r.Purpose <= FinalCall; r.Tick += aSecond {
		plan := h.Plan(r, shown)
		for _, d := range plan.Deliveries {
			h.Sent(d, r.Tick)
			for _, p := range d.Reached() {
				f := Simulated{Signal: d.Signal, Now: true, Rule: d.Rule}
				if r.Purpose > Orphans {
					f = all[p.ID]
					f.Signal, f.Else = d.Signal, r.Purpose
				}
				all[p.ID] = f
			}
		}
		for _, w := range plan.Unsignalled {
			for _, p := range w.Processes {
				if r.Purpose <= Orphans {
					all[p.ID] = Simulated{Rule: w.Rule, Delegated: h.living[p.PID].fate == left}
				}
			}
		}
		if r.Purpose == Stop || len(plan.Deliveries) == 0 && plan.Again == 0 {
			r.Purpose++
		}
		s = s.After(self, func(p *proc.Process) bool { return h.dies(p, idle, trapped) })
		shown = s
	}
	return all
}

// canRest reports whether /proc can show that a process has slept. gVisor's can't.
func canRest(p *proc.Process) bool { return p.MasksKnown() }

// dies reports whether a process dies of what it was sent, and notes how it ended. If the process blocks the
// signal, dies makes it pending. For idle and trapped see foresee.
func (h *History) dies(p *proc.Process, idle, trapped bool) bool {
	p.Untouched = canRest(p) && idle
	m := h.living[p.PID]
	if !idle {
		p.Switches = 0
	}
	if trapped && m.hasTrap() {
		p.Call = proc.Call{}
	}
	switch {
	case m == nil || m.sent == nil:
	case m.On(m.sent.signal) == proc.Blocks:
		p.Pending |= signals.SetOf(m.sent.signal)
	case m.On(m.sent.signal) == proc.Dies:
		h.Exited(p.PID, unix.WaitStatus(m.sent.signal)) // as far as drainit waits for it
		return true
	}
	return false
}
