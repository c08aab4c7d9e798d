package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
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

// step is a request that is planned, with what lives no longer than that.
type step struct {
	*Ledger
	Request
	Plan
	roots    string                // why this step signals the roots of the stop; "" if it does not
	draining int                   // how many living processes drain
	deaf     map[*record]*deafness // by process: the deafness because of which its children are signalled
}

// Plan plans a request. The snapshot comes from proc.Reader.Tree. It is nil if /proc could not be read, or need not be
// (NeedsTree). The ledger notes final decisions now, and a delivery after it was made (Sent).
func (l *Ledger) Plan(r Request, shown *proc.Snapshot) Plan {
	s := &step{Ledger: l, Request: r, deaf: make(map[*record]*deafness)}
	switch r.Purpose {
	case Stop:
		s.planStop(shown)
	case Orphans, LastCall, FinalCall:
		s.planOrphans(shown)
	case Quiet:
		s.planQuiet(shown)
	case Resume:
		s.planResume()
	default:
		s.planPassThrough(shown)
	}
	return s.Plan
}

// NeedsTree reports whether the plan of a request depends on the processes below the worker.
func (l *Ledger) NeedsTree(r Request) bool {
	switch {
	case r.Purpose.OfStop():
		return r.Mode != ModeWorker || r.Purpose == Stop && l.gone
	case r.Purpose == PassThrough && l.gone:
		return l.daemonizes
	case r.Purpose == PassThrough:
		return r.Mode != ModeWorker || signals.StopsByDefault(r.Signal)
	}
	return r.Purpose == Quiet
}

// planStop is for the first stop signal: the worker alone, unless a mode says otherwise.
// A prefork master must be signalled alone, and relays would make it two signals.
func (s *step) planStop(shown *proc.Snapshot) {
	worker := s.toWorker(s.Signal, shown)
	worker.Stop, worker.Rule = true, "the worker"
	if s.Mode == ModeGroup {
		worker.Target, worker.Rule = ToGroup, "of the worker's process group"
	}
	switch {
	case shown == nil && (s.Mode == ModeNone || s.gone): // its pid and its group may be another's by now
	case s.Mode == ModeNone:
		s.begin(shown)
	case s.gone:
		s.beginWithRoots(shown, "left by a worker that has daemonized")
	case s.Mode == ModeWorker || shown == nil:
		s.add(worker)
	case s.Mode == ModeGroup:
		s.begin(shown)
		worker.Members = copies(shown.Group(worker.PGID))
		s.add(worker)
	default:
		s.beginWithRoots(shown, worker.Rule)
	}
}

// toWorker is a delivery to the worker, as a snapshot shows it.
func (l *Ledger) toWorker(sig unix.Signal, shown *proc.Snapshot) Delivery {
	p, ok := shown.Process(l.pid)
	if !ok {
		p = proc.Process{ID: proc.ID{PID: l.pid}, PPID: l.self}
	}
	group := l.pid
	if p.PGID == l.pgid { // a successor may be in the first worker's
		group = p.PGID
	}
	return Delivery{Process: p, PGID: group, Signal: sig, Child: true}
}

// planOrphans is for the steps after the first. Without /proc, a worker that lives may signal the others;
// the processes that it leaves when it goes are known to the kernel alone.
func (s *step) planOrphans(shown *proc.Snapshot) {
	switch {
	case s.Mode == ModeWorker:
	case shown == nil && s.gone && !s.broadcast && s.Mode != ModeNone:
		s.broadcast = true
		s.add(Delivery{Target: ToNamespace, Signal: unix.SIGTERM})
	case shown == nil:
	case s.Start != nil:
		s.now = s.Tick
		s.observe(shown)
		if s.Mode != ModeNone {
			s.Successor = s.promoteSuccessor(false)
		}
		s.judge()
	case s.Mode == ModeNone: // the stop began when /proc could not be read, or the worker exited by itself
		s.begin(shown)
		s.judge()
	case s.gone:
		s.beginWithRoots(shown, "the worker exited by itself")
	default:
		s.begin(shown)
	}
}

// beginWithRoots begins a stop, and signals what is signalled as the worker is.
func (s *step) beginWithRoots(shown *proc.Snapshot, why string) {
	s.begin(shown)
	s.roots = why
	s.judge()
}

// judge decides about each process that was not signalled, after the one above it, and does what is decided.
func (s *step) judge() {
	all := s.all()
	for _, m := range all {
		if s.drains(m) {
			s.draining++
		}
	}
	for _, m := range all {
		if m.sent == nil {
			s.carryOut(m, s.decide(m))
		}
		if s.roots == "" && s.Mode != ModeNone {
			s.noteDeaf(m)
		}
	}
}

// carryOut plans what is decided about a process, or notes why it waits: if that is another reason than before, or it
// has become an orphan.
func (s *step) carryOut(m *record, v verdict) {
	switch {
	case v.fate == due || v.call:
		s.add(Delivery{Process: m.Process, Signal: s.signalFor(m), Child: v.orphan, Rule: v.why.String(), Stop: true, Late: v.call})
	case (v.why != m.why || v.orphan && !m.orphan) && v.why != reason{}:
		s.note(m, v)
	}
	s.Holding = s.Holding || v.fate == held
	m.verdict = v
}

// noteDeaf notes which children of a process are signalled because that one, or the one above it, is deaf.
func (s *step) noteDeaf(m *record) {
	own, above := s.deafness(m), s.deafAbove(m)
	switch {
	case own != nil:
		s.deaf[m] = own
		// A child without a handler may end within moments, and is given a second.
		if child := own.to; child != nil && m.sent != nil && (child[0].Handles(m.sent.signal) || s.now >= m.sent.tick+aSecond) {
			s.BlockedTraps = append(s.BlockedTraps, BlockedTrap{m.Process, *child[0]})
		}
	case above != nil && m.sent == nil && !s.shown.HasWriters(m.PID) && !s.actsUpon(m):
		s.deaf[m] = &deafness{why: above.why, certain: above.certain}
	}
}

// deafAbove is the deafness above m because of which m is signalled if it handles the signal; nil for none.
func (s *step) deafAbove(m *record) *deafness {
	d := s.deaf[s.living[m.PPID]]
	if d != nil && d.to != nil && !slices.ContainsFunc(d.to, func(p *proc.Process) bool { return p.PID == m.PID }) {
		return nil
	}
	return d
}

func (p *Plan) add(d Delivery) { p.Deliveries = append(p.Deliveries, d) }
