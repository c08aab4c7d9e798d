package forward

import (
	"cmp"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Plan is what a request comes to.
type Plan struct {
	Deliveries   []Delivery // in their order
	Successor    *Successor // that took the worker's place, nil for none
	Waiting      []Waiting
	BlockedTraps []BlockedTrap
	Holding      bool // a process is held back for moments
}

// Plan plans a request. The snapshot comes from proc.Reader.Tree. It is nil if /proc could not be read, or need not be
// (NeedsTree). The ledger notes final decisions now, and a delivery after it was made (Sent).
func (l *Ledger) Plan(r Request, s *proc.Snapshot) Plan {
	l.plan, l.planned = Plan{}, make(map[proc.ID]bool)
	switch r.Purpose {
	case Stop:
		l.planStop(r, s)
	case Orphans, LastCall, FinalCall:
		l.planOrphans(r, s)
	case Quiet:
		l.planQuiet(r, s)
	case Resume:
		l.planResume(r)
	default:
		l.planOther(r, s)
	}
	return l.plan
}

// NeedsTree reports whether the plan of a request depends on the processes below the worker.
func (l *Ledger) NeedsTree(r Request) bool {
	switch {
	case r.Purpose.OfStop():
		return r.Mode != ModeWorker || r.Purpose == Stop && r.Worker.Gone
	case r.Purpose == PassThrough && r.Worker.Gone:
		return r.Worker.Daemonizes
	case r.Purpose == PassThrough:
		return r.Mode != ModeWorker || signals.StopsByDefault(r.Signal)
	}
	return r.Purpose == Quiet
}

// planStop is for the first stop signal: the worker alone, unless a mode says otherwise.
// A prefork master must be signalled alone, and relays would make it two signals.
func (l *Ledger) planStop(r Request, s *proc.Snapshot) {
	worker := l.toWorker(r, s)
	worker.Stop, worker.Rule = true, "the worker"
	if r.Mode == ModeGroup {
		worker.Target, worker.Rule = ToGroup, "of the worker's process group"
	}
	switch {
	case s == nil && r.Mode == ModeNone:
	case r.Mode == ModeNone:
		l.begin(r, s)
	case r.Worker.Gone && s == nil: // its pid and its group may be another's by now
	case r.Worker.Gone:
		l.begin(r, s)
		l.addRoots("left by a worker that has daemonized")
	case r.Mode == ModeWorker || s == nil:
		l.add(worker)
	case r.Mode == ModeGroup:
		l.begin(r, s)
		worker.Members = copies(s.Group(worker.PGID))
		l.add(worker)
	default:
		l.begin(r, s)
		l.addRoots(worker.Rule)
	}
}

// toWorker is a delivery to the worker, as the snapshot shows it.
func (l *Ledger) toWorker(r Request, s *proc.Snapshot) Delivery {
	p, ok := s.Process(r.Worker.PID)
	if !ok {
		p = proc.Process{ID: proc.ID{PID: r.Worker.PID}, PPID: l.self}
	}
	group := r.Worker.PID
	if p.PGID == r.Worker.PGID { // a successor may be in the first worker's
		group = p.PGID
	}
	return Delivery{Process: p, PGID: group, Signal: r.Signal, Child: true}
}

// planOrphans is for the steps after the first. Without /proc, a worker that lives may signal the others;
// the processes that it leaves when it goes are known to the kernel alone.
func (l *Ledger) planOrphans(r Request, s *proc.Snapshot) {
	switch {
	case r.Mode == ModeWorker:
	case s == nil && r.Worker.Gone && !l.broadcast && r.Mode != ModeNone:
		l.broadcast = true
		l.plan.Deliveries = []Delivery{{Target: ToNamespace, Signal: unix.SIGTERM}}
	case s == nil:
	case l.Start == nil: // it exited by itself, or the stop began when /proc could not be read
		l.begin(r, s)
		if r.Mode == ModeNone {
			l.awaitPlatform(r.Purpose)
		} else if r.Worker.Gone {
			l.addRoots("the worker exited by itself")
		}
	default:
		l.now = r.Tick
		l.observe(s)
		if r.Mode == ModeNone {
			l.awaitPlatform(r.Purpose)
			return
		}
		l.promoteSuccessor(false)
		l.judge(r.Purpose)
	}
}

// awaitPlatform signals no process that the platform has signalled: in the calls those alone that came later, or that
// it has missed.
func (l *Ledger) awaitPlatform(step Purpose) {
	for _, m := range l.shownNow() {
		missed := m.Untouched || m.first > 1
		if step >= LastCall && missed && m.sent == nil && l.actsUpon(m) {
			l.addLate(m, "the platform has not signalled it")
			continue
		}
		l.note(m, "the platform signals each process (--forward none)", false)
	}
}

// judge goes through drainit's children, and those below processes that can't act upon the signal.
func (l *Ledger) judge(step Purpose) {
	for _, m := range l.children() {
		if m.sent == nil {
			l.settle(m)
		}
	}
	l.passBelowDeaf()
	if step != Orphans {
		l.addLastCall(step == FinalCall)
	}
	l.noteLeft()
}

// settle does what is decided about a child of drainit.
func (l *Ledger) settle(m *record) {
	fate, why := l.decide(m)
	if fate == due {
		l.add(l.delivery(m, why))
		return
	}
	mayBeSent := fate == undecided
	if m.leftTo = (leftTo{}); why == "" {
		m.leftTo = l.leftTo(m)
		why, mayBeSent = m.leftTo.words(), m.leftTo.how == mayHavePassedOn
	}
	l.note(m, why, mayBeSent)
	if m.fate = fate; fate == held {
		l.plan.Holding = true
		m.heldSince = cmp.Or(m.heldSince, l.now)
	}
}

// add adds a delivery to the plan.
func (l *Ledger) add(d Delivery) {
	l.plan.Deliveries = append(l.plan.Deliveries, d)
	for _, p := range d.Reached() {
		l.planned[p.ID] = true
	}
}

// pass signals the first on each way down from these, themselves first, that handles the signal; where it
// is uncertain whether they were signalled, the untouched. One without a handler would only die of it.
func (l *Ledger) pass(these []*proc.Process, why string, uncertain bool) {
	for _, p := range these {
		m := l.living[p.PID]
		switch {
		case m == nil || l.leaves(m):
		case !l.actsUpon(m):
			l.pass(l.shown.Children(p.PID), why, uncertain)
		case m.Untouched || !uncertain && !l.groupMayHave(m):
			l.add(l.delivery(m, why))
		}
	}
}

// actsUpon reports whether a process that is sent the signal ends its work by it.
func (l *Ledger) actsUpon(m *record) bool {
	return m.Handles(l.signalFor(m))
}

// leaves reports whether a process is left alone: it was signalled, it is about to be, or it reads
// a pipe that a living process writes to.
func (l *Ledger) leaves(m *record) bool {
	return m.sent != nil || l.planned[m.ID] || l.shown.HasWriters(m.PID)
}

// addRoots adds the processes that are signalled as the worker is. One that reads a pipe has its turn
// after the writer.
func (l *Ledger) addRoots(why string) {
	for _, m := range l.children() {
		if m.origin == root && m.sent == nil && (m == l.worker || !l.shown.HasWriters(m.PID)) {
			l.add(l.delivery(m, why))
		}
	}
}

func (l *Ledger) delivery(m *record, why string) Delivery {
	return Delivery{Process: m.Process, Signal: l.signalFor(m), Child: m.PPID == l.self, Rule: why, Stop: true}
}

// signalFor is what a process is sent: the stop signal if it is the worker or handles that, else TERM.
// A launcher heeds TERM at most. A shell ignores QUIT, and on INT waits for its child or dies, whatever
// trap it has for TERM; so it is sent TERM unless it is known to have a trap for the signal itself.
func (l *Ledger) signalFor(m *record) unix.Signal {
	heeds := m.kind == program.Other || m.kind == program.Shell && l.deliver != unix.SIGINT && m.IsTold() && m.Handles(l.deliver)
	if heeds && (m == l.worker || m.Handles(l.deliver)) {
		return l.deliver
	}
	return unix.SIGTERM
}
