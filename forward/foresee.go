package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Foreseen says how a stop would treat one process.
type Foreseen struct {
	Signal    unix.Signal // the signal that it would be sent, 0 for none
	Now       bool        // at once, or when a process above it has died of the signal or can't act upon it
	Busy      string      // the reason why it waits if it is busy, "" where it is signalled now all the same
	Rule      string      // the reason why it is signalled now, or waits
	Else      Purpose     // the call that would signal it otherwise; Stop for none
	Advice    string      // what would have it signalled at once in place of that, "" for nothing
	Delegated bool        // another is expected to signal it, and it has its turn at once if that ends and passes nothing on
}

// Foresee plays a stop of a snapshot, for a ledger that has none yet. A process without a handler dies of the signal at once, all others live
// on. Foresee plays the stop as if all processes slept, and as if none did, whatever they do now: a process that is
// signalled now in the first play alone is not certain.
// The stop begins at the first snapshot, and goes on with the second, which was taken moments later: what has changed
// in between shows that a shell does not wait.
func (l *Ledger) Foresee(r Request, first, s *proc.Snapshot) map[proc.ID]Foreseen {
	all, busy := l.foresee(r, first, s, true), l.foresee(r, first, s, false)
	for id, f := range all {
		if f.Now {
			f.Else, f.Advice = busy[id].Else, busy[id].Advice
			if !busy[id].Now {
				f.Busy = busy[id].Rule
			}
			all[id] = f
		}
	}
	return all
}

func (l *Ledger) foresee(r Request, first, s *proc.Snapshot, idle bool) map[proc.ID]Foreseen {
	self, all := l.self, make(map[proc.ID]Foreseen)
	l = &Ledger{self: self, leader: l.leader}
	shown := first.After(self, func(p *proc.Process) bool { p.Untouched = idle; return false })
	for r.Purpose = Stop; r.Purpose <= FinalCall; r.Tick += aSecond {
		plan := l.Plan(r, shown)
		for _, d := range plan.Deliveries {
			l.Sent(d, r.Tick)
			for _, p := range d.Reached() {
				f := Foreseen{Signal: d.Signal, Now: true, Rule: d.Rule}
				if r.Purpose > Orphans {
					f = all[p.ID]
					f.Signal, f.Else, f.Advice = d.Signal, r.Purpose, l.advice(l.living[p.PID])
				}
				all[p.ID] = f
			}
		}
		for _, w := range plan.Waiting {
			for _, p := range w.Processes {
				if r.Purpose <= Orphans {
					all[p.ID] = Foreseen{Rule: w.Rule, Delegated: l.living[p.PID].fate == delegated}
				}
			}
		}
		if r.Purpose == Stop || len(plan.Deliveries) == 0 && !plan.Holding {
			r.Purpose++
		}
		s = s.After(self, func(p *proc.Process) bool { return l.dies(p, idle) })
		shown = s
	}
	return all
}

// dies reports whether a process dies of what it was sent, and notes that. One that blocks it has it pending.
func (l *Ledger) dies(p *proc.Process, idle bool) bool {
	p.Untouched = idle
	switch m := l.living[p.PID]; {
	case m == nil || m.sent == nil:
	case m.On(m.sent.signal) == proc.Blocks:
		p.Pending |= signals.SetOf(m.sent.signal)
	case m.On(m.sent.signal) == proc.Dies:
		l.Exited(p.PID, unix.WaitStatus(m.sent.signal)) // as far as drainit waits for it
		return true
	}
	return false
}
