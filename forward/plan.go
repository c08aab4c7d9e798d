package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Plan returns the deliveries of a request, in their order. The snapshot is what Want
// asked for; nil stands for a /proc that could not be read. What is final is noted in the
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
		return l.toRoots(s, "left by a worker that has daemonized")
	case r.Mode == ModeGroup:
		worker.Target, worker.Rule = ToGroup, "of the worker's process group"
		for _, p := range s.Group(worker.PGID) {
			worker.Members = append(worker.Members, *p)
		}
		if len(worker.Members) == 0 {
			worker.Members = []proc.Process{worker.Process}
		}
		c := l.newCascade(s)
		c.add(worker)
		return c.plan
	}
	return l.toRoots(s, "the worker")
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

// planQuiet never freezes a process: the signal goes to those that handle it and were
// not sent it, whatever the mode.
func (l *Ledger) planQuiet(r Request, s *proc.Snapshot) (all []Delivery) {
	for _, p := range l.Handlers(r, s) {
		if _, sent := l.quieted[p.ID]; !sent {
			all = append(all, Delivery{Process: p, Signal: r.Signal, Child: l.isChild(p, r), OnlyIfHandled: true})
		}
	}
	return all
}

// planResume takes back what quiet did, from those that were sent it. It goes by their
// start times: each may have ended, and another have its pid.
func (l *Ledger) planResume(r Request) (all []Delivery) {
	quieted := make([]proc.Process, 0, len(l.quieted))
	for _, p := range l.quieted {
		quieted = append(quieted, p)
	}
	proc.SortByPID(quieted)
	for _, p := range quieted {
		all = append(all, Delivery{Process: p, Signal: r.Signal, Child: p.PID == r.Worker.PID && !r.Worker.Gone})
	}
	return all
}

// planOther is for a signal that means nothing to drainit.
func (l *Ledger) planOther(r Request, s *proc.Snapshot) (all []Delivery) {
	onlyIfHandled := signals.StopsByDefault(r.Signal)
	switch {
	case r.Worker.Gone && !r.Worker.Daemonizes:
		return nil
	case r.Worker.Gone:
		for _, root := range s.Children(l.self) { // each is a worker of its own
			all = append(all, l.passThrough(r, s, *root, onlyIfHandled)...)
		}
		return all
	}
	worker := l.toWorker(r, s)
	switch {
	case r.Mode == ModeAuto:
		return l.passThrough(r, s, worker.Process, onlyIfHandled)
	case onlyIfHandled:
		return l.toHandlers(r, l.Handlers(r, s))
	case r.Mode == ModeGroup:
		worker.Target = ToGroup
	}
	return []Delivery{worker}
}

// passThrough is for one worker: the first that handles the signal on each way down from
// it; the worker itself where none does, unless that would stop it.
func (l *Ledger) passThrough(r Request, s *proc.Snapshot, root proc.Process, onlyIfHandled bool) []Delivery {
	all := l.toHandlers(r, s.Nearest(root.PID, func(p proc.Process) bool { return p.Handles(r.Signal) }))
	if len(all) == 0 && !onlyIfHandled {
		all = []Delivery{{Process: root, Signal: r.Signal, Child: true, Rule: "no process handles it"}}
	}
	return all
}

func (l *Ledger) toHandlers(r Request, handlers []proc.Process) (all []Delivery) {
	for _, p := range handlers {
		all = append(all, Delivery{Process: p, Signal: r.Signal, Child: l.isChild(p, r), Rule: "the first that handles it"})
	}
	return all
}

// Handlers are the processes that a signal goes to because they handle it: by mode the
// first on each way down from the worker, or from what a worker that has gone left; the
// worker; or the members of its group.
func (l *Ledger) Handlers(r Request, s *proc.Snapshot) (handlers []proc.Process) {
	handles := func(p proc.Process) bool { return p.Handles(r.Signal) }
	switch {
	case r.Worker.Gone:
		for _, root := range s.Children(l.self) {
			handlers = append(handlers, s.Nearest(root.PID, handles)...)
		}
	case r.mode() == ModeAuto:
		handlers = s.Nearest(r.Worker.PID, handles)
	case r.mode() == ModeGroup:
		for _, p := range s.Group(r.Worker.PID) {
			if handles(*p) {
				handlers = append(handlers, *p)
			}
		}
	default:
		if p, ok := s.Process(r.Worker.PID); ok && handles(p) {
			handlers = []proc.Process{p}
		}
	}
	return handlers
}

func (l *Ledger) isChild(p proc.Process, r Request) bool {
	return p.PPID == l.self || p.PID == r.Worker.PID && !r.Worker.Gone
}

// planOrphans returns the deliveries to those children of drainit that no other process
// can have signalled; in the last seconds of a grace to all that were not.
func (l *Ledger) planOrphans(r Request, s *proc.Snapshot) []Delivery {
	switch {
	case r.Mode == ModeWorker:
		return nil
	case s == nil:
		return l.planUnseen(r)
	case !l.begun:
		return l.planLate(r, s)
	}
	l.now = r.Tick
	l.observe(s)
	l.promoteSuccessor(s)
	return l.judge(r, s)
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
		return l.toRoots(s, "the worker exited by itself")
	}
	return nil
}

// judge goes through drainit's children, and what is below those that can't act upon what
// they were sent.
func (l *Ledger) judge(r Request, s *proc.Snapshot) []Delivery {
	c := l.newCascade(s)
	for _, m := range l.children() {
		if m.sent != nil || c.planned[m.ID] {
			continue
		}
		if d, why := l.decide(m, s); d == signalNow {
			c.add(l.delivery(m, why))
		}
	}
	for _, d := range l.deaf(r.Tick, s) {
		for _, child := range d.Children {
			c.pass(child, "below "+d.Process.String()+", which "+d.Why, d.uncertain)
		}
	}
	if r.Purpose == LastCall {
		l.addLastCall(c)
	} else {
		l.noteUndecided(r.Tick, c)
	}
	return c.plan
}

// addLastCall adds those that handle the signal and were not signalled: drainit's children,
// those below one that may not act upon it, and those that are proven to have received
// nothing. The others are the business of a process that handles the stop and lives. Of
// those that were signalled unseen it is only known that they should have died.
func (l *Ledger) addLastCall(c *cascade) {
	for _, p := range c.s.Descendants(l.self) {
		m := l.living[p.PID]
		if m == nil || c.planned[m.ID] {
			continue
		}
		unseen := m.PPID == l.self && m.sent != nil && m.sent.unseen && !m.handled.Has(m.sent.signal)
		if unseen || !c.leaves(m) && l.hasItsTurn(m, c) {
			c.add(l.delivery(m, lastCall))
		}
	}
}

// hasItsTurn reports whether a process that was not signalled is in the last call.
func (l *Ledger) hasItsTurn(m *record, c *cascade) bool {
	if m.preexisting || !m.actsUpon(l.signalFor(m)) {
		return m.preexisting
	}
	decided, provenOnly := false, false
	below := m // on the way from up to m
	for up := l.living[m.PPID]; up != nil; up = l.living[up.PPID] {
		switch {
		case c.planned[up.ID], c.s.HasWriters(up.PID): // it has its turn first
			return false
		case decided:
		case up.sent != nil && l.maySignalNone(up, below, c.s):
			decided = true
		case up.sent != nil, l.everActs(up):
			decided, provenOnly = true, true
		}
		below = up
	}
	return !provenOnly || c.s.Untouched(m.ID)
}

// everActs reports whether a process acts upon what another sends it, or has done so with
// a handler that was for once.
func (l *Ledger) everActs(m *record) bool {
	handled := m.handled.Has(l.signalFor(m)) || m.program != Shell && m.handled.Has(l.deliver)
	return handled && !m.alwaysHandles() && !m.Ignores(l.deliver)
}

// maySignalNone reports whether a process that was signalled may not act upon it, and so
// not have signalled a child. A shell with a trap acts, unless it waits for that child, or
// another.
func (l *Ledger) maySignalNone(up, child *record, s *proc.Snapshot) bool {
	if up.program == Shell && up.sent.handled && !up.Pending.Has(up.sent.signal) {
		return mayWait(up, child, s)
	}
	return l.notActing(up)
}
