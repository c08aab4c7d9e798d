package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Plan is the answer to a request: the deliveries to make, and which processes are sent nothing, with the
// reasons for the log.
type Plan struct {
	Deliveries  []Delivery // in their order
	Successor   *Successor // that took the worker's place, nil for none
	Unsignalled []Unsignalled
	Again       uint64 // in how many ticks time alone may change a verdict, 0 for never
}

// step is the planning of one request. What it has beside the history lasts no longer.
type step struct {
	*History
	Request
	Plan
	roots       reason                 // why this step signals the roots of the stop, none if it does not
	draining    int                    // how many living processes drain
	foregrounds map[*record]foreground // of the shells that were asked about
}

// Plan plans a request. shown is a snapshot from proc.Reader.Tree. It is nil if /proc could not be read, or
// need not be (NeedsTree). The history notes each verdict at once. It notes a delivery after that was made
// (Sent).
func (h *History) Plan(r Request, shown *proc.Snapshot) Plan {
	s := &step{History: h, Request: r, foregrounds: make(map[*record]foreground)}
	switch r.Purpose {
	case Stop:
		s.planStop(shown)
	case Orphans, LastCall, FinalCall:
		s.planOrphans(shown)
	case Quiet:
		s.planQuiet(shown)
	case Resume:
		s.planResume(shown)
	default:
		s.planPassThrough(shown)
	}
	return s.Plan
}

// NeedsTree reports whether the plan of a request depends on the processes below the worker.
func (h *History) NeedsTree(r Request) bool {
	switch {
	case r.Purpose.OfStop():
		return r.Mode != ModeWorker || r.Purpose == Stop && h.gone
	case r.Purpose == PassThrough && h.gone:
		return h.daemonizes
	case r.Purpose == PassThrough:
		return r.Mode != ModeWorker || signals.StopsByDefault(r.Signal)
	}
	return r.Purpose == Quiet
}

// planStop plans the first stop signal. It goes to the worker alone, unless the mode says otherwise: a
// prefork master must be signalled alone, and with a relay the processes below it would get two signals. If
// the worker has gone, the signal goes to what it left.
func (s *step) planStop(shown *proc.Snapshot) {
	const theWorker = "the worker"
	switch {
	case shown == nil && (s.Mode == ModeNone || s.gone): // its pid and its group may be another's by now
	case s.Mode == ModeNone:
		s.begin(shown)
	case s.gone:
		s.beginWithRoots(shown, "left by a worker that has daemonized")
	case s.Mode <= ModeHandlers && shown != nil:
		s.beginWithRoots(shown, theWorker)
	default:
		d := s.toWorker(s.Signal, shown)
		d.Stop, d.Rule = true, theWorker
		if s.Mode == ModeGroup {
			d.Target, d.Rule = ToGroup, "of the worker's process group"
		}
		if s.Mode == ModeGroup && shown != nil {
			s.begin(shown)
			d.Members = copies(shown.Group(d.PGID))
		}
		s.add(d)
	}
}

// toWorker returns a delivery of sig to the worker, as the snapshot shown has it. If that is nil or lacks the
// worker, only the pid is known.
func (h *History) toWorker(sig unix.Signal, shown *proc.Snapshot) Delivery {
	p, ok := shown.Process(h.pid)
	if !ok {
		p = proc.Process{ID: proc.ID{PID: h.pid}, PPID: h.self}
	}
	group := h.pid
	if p.PGID == h.pgid { // a successor may be in the first worker's
		group = p.PGID
	}
	return Delivery{Process: p, PGID: group, Signal: sig, Child: true}
}

// planOrphans plans each step of a stop but the first. Without /proc (shown is nil), nothing is sent while
// the worker lives, since it may signal the others. Once it has gone, the kernel alone knows the processes
// that it left, so the whole PID namespace is signalled, once.
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
			s.Successor = s.PromoteSuccessor(false)
		}
		s.decideAll()
	case s.Mode == ModeNone: // the stop began when /proc could not be read, or the worker exited by itself
		s.begin(shown)
		s.decideAll()
	case s.gone:
		s.beginWithRoots(shown, "the worker exited by itself")
	default:
		s.begin(shown)
	}
}

// beginWithRoots begins a stop, and plans the signal for its roots. why is the reason that their deliveries
// give.
func (s *step) beginWithRoots(shown *proc.Snapshot, why string) {
	s.begin(shown)
	s.roots = reason{words: why}
	s.decideAll()
}

// decideAll decides about each process that was not signalled, after the one above it, and carries that out.
// A shell that INT has not ended (goesOn) counts as not signalled.
func (s *step) decideAll() {
	for _, m := range s.all {
		if s.drains(m) {
			s.draining++
		}
	}
	for _, m := range s.all {
		if s.goesOn(m) {
			m.sent, m.wentOn = nil, true
		}
		if m.sent == nil {
			s.apply(m, s.decide(m))
		}
	}
}

// apply plans the delivery to a process that is to be signalled. Otherwise it notes why the process waits,
// if the reason has changed, or the process has become an orphan, or the one above it has had its time.
func (s *step) apply(m *record, v verdict) {
	switch {
	case v.fate == due || v.call:
		d := Delivery{Process: m.Process, Signal: s.signalFor(m), Child: v.isChild, Rule: v.why.String()}
		d.Stop, d.Late = true, v.call
		s.add(d)
		if m.kind == program.Shell && m.Handles(d.Signal) { // what sleeps then, its trap has not signalled
			s.lookAgain(s.now + 1)
		}
	case v.why.none():
	case v.why != m.why, v.isChild && !m.isChild, v.fate == overdue && m.fate != overdue:
		s.note(m, v)
	}
	m.verdict = v
}

func (p *Plan) add(d Delivery) { p.Deliveries = append(p.Deliveries, d) }
