package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Plan returns the deliveries of a request, in their order. The snapshot is
// proc.Reader.Tree's; nil stands for a /proc that could not be read, or need not be (NeedsTree). What is final is noted in the
// ledger; a delivery is noted when it has been made (Sent).
func (l *Ledger) Plan(r Request, s *proc.Snapshot) []Delivery {
	switch r.Purpose {
	case Stop:
		return l.planStop(r, s)
	case Orphans, LastCall:
		return l.planOrphans(r, s)
	case Quiet:
		return l.planQuiet(r, s)
	case Resume:
		return l.planResume(r)
	}
	return l.planOther(r, s)
}

// NeedsTree reports whether the plan of a request depends on what is below the worker.
func (l *Ledger) NeedsTree(r Request) bool {
	switch {
	case r.Purpose == Resume:
		return false
	case r.Purpose.OfStop():
		return r.Mode != ModeWorker || r.Purpose == Stop && r.Worker.Gone
	case r.Purpose == Quiet:
		return true
	case r.Worker.Gone:
		return r.Worker.Daemonizes
	}
	return r.Mode != ModeWorker || signals.StopsByDefault(r.Signal)
}

// planStop is for the first stop signal: the worker alone, unless a mode says otherwise.
// A prefork master must be signalled alone, and relays would make it two signals.
func (l *Ledger) planStop(r Request, s *proc.Snapshot) []Delivery {
	worker := l.toWorker(r, s)
	worker.Stop = true
	switch {
	case r.Mode == ModeWorker && !r.Worker.Gone:
		worker.Rule = "the worker alone"
		return []Delivery{worker}
	case s == nil && r.Worker.Gone: // its pid and its group may be another's by now
		return nil
	case s == nil && r.Mode == ModeGroup:
		worker.Target, worker.Rule = ToGroup, "of the worker's process group, which /proc does not show"
		return []Delivery{worker}
	case s == nil:
		worker.Rule = "the worker, for what is below it can't be seen"
		return []Delivery{worker}
	}
	l.begin(r, s)
	switch {
	case r.Worker.Gone:
		return l.toRoots("left by a worker that has daemonized")
	case r.Mode == ModeGroup:
		worker.Target, worker.Rule = ToGroup, "of the worker's process group"
		for _, p := range s.Group(worker.PGID) {
			worker.Members = append(worker.Members, *p)
		}
		if len(worker.Members) == 0 {
			worker.Members = []proc.Process{worker.Process}
		}
		c := l.newCascade()
		c.add(worker)
		return c.plan
	}
	return l.toRoots("the worker")
}

// toWorker is a delivery to the worker, as the snapshot shows it.
func (l *Ledger) toWorker(r Request, s *proc.Snapshot) Delivery {
	p, ok := s.Process(r.Worker.PID)
	if !ok {
		p = proc.Process{ID: proc.ID{PID: r.Worker.PID}}
	}
	d := Delivery{Process: p, PGID: r.Worker.PID, Signal: r.Signal, Child: true}
	if p.PGID == r.Worker.PGID { // a successor may be in the first worker's
		d.PGID = r.Worker.PGID
	}
	return d
}

// planOrphans returns the deliveries to those children of drainit that no other process
// can have signalled; in the last seconds of a grace to all that were not.
func (l *Ledger) planOrphans(r Request, s *proc.Snapshot) []Delivery {
	switch {
	case r.Mode == ModeWorker:
		return nil
	case s == nil:
		return l.planUnseen(r)
	case l.start == nil:
		return l.planLate(r, s)
	}
	l.now = r.Tick
	l.observe(s)
	l.promoteSuccessor(false)
	return l.judge(r.Purpose == LastCall)
}

// planUnseen is for a /proc that can't be used. Of a worker that lives it is known that
// it was signalled, and it may signal the others; what one that has gone left is known to
// the kernel alone.
func (l *Ledger) planUnseen(r Request) []Delivery {
	if !r.Worker.Gone || l.broadcast {
		return nil
	}
	l.broadcast = true
	return []Delivery{{Target: ToNamespace, Signal: unix.SIGTERM}}
}

// planLate is for a worker that exited by itself, and for a stop that began with a /proc
// which could not be read.
func (l *Ledger) planLate(r Request, s *proc.Snapshot) []Delivery {
	l.begin(r, s)
	if r.Worker.Gone {
		return l.toRoots("the worker exited by itself")
	}
	return nil
}

// judge goes through drainit's children, and what is below those that can't act upon what
// they were sent.
func (l *Ledger) judge(last bool) []Delivery {
	c := l.newCascade()
	for _, m := range l.children() {
		if m.sent != nil || c.planned[m.ID] {
			continue
		}
		if d, why := l.decide(m); d == signalNow {
			c.add(l.delivery(m, why))
		}
	}
	for _, d := range l.deaf() {
		for _, child := range d.Children {
			c.pass(child, "below "+d.Process.String()+", which "+d.Why, d.uncertain)
		}
	}
	if last {
		l.addLastCall(c)
	} else {
		l.noteUndecided(c)
	}
	return c.plan
}
