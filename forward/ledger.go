package forward

import (
	"iter"
	"maps"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Ledger is the history that decisions depend on: which process was sent what, how each
// of drainit's children ended, and what each snapshot of a stop has shown. No process is
// sent a stop signal twice.
type Ledger struct {
	self    int                      // drainit's pid
	quieted map[proc.ID]proc.Process // those that were sent the quiet signal

	early *sent // how the worker was signalled before there was a snapshot

	// Of a stop, from its first snapshot on.
	start     *proc.Snapshot // that one, nil before
	shown     *proc.Snapshot // the last
	snapshots int32          // how many there have been
	deliver   unix.Signal    // the stop signal, after the rewrite
	worker    proc.ID        // zero where it had gone before the stop
	now       uint64         // the tick of the last request
	records   map[proc.ID]*record
	living    map[int]*record // by pid
	group     int             // a process group that was signalled as a whole, 0 for none
	toGroup   *sent           // how
	broadcast bool            // the whole PID namespace was signalled
	deferred  uint8           // how often the choice of a successor was put off
	successor *record         // that took the worker's place in the last plan
	waiting   []Waiting       // of the last plan
}

// NewLedger returns the history of a drainit with this pid that has sent nothing.
func NewLedger(self int) *Ledger {
	return &Ledger{self: self, quieted: make(map[proc.ID]proc.Process)}
}

// Start returns the first snapshot of the stop, nil before that was taken. Later ones show who is
// untouched since.
func (l *Ledger) Start() *proc.Snapshot { return l.start }

// begin begins the history of a stop with its first snapshot, taken before any process
// was signalled. The roots are signalled as the worker is: the worker, or all children of
// drainit where it has gone. The other children wait until it has.
func (l *Ledger) begin(r Request, s *proc.Snapshot) {
	l.start, l.deliver, l.now = s, r.Signal, r.Tick
	l.records = make(map[proc.ID]*record)
	if !r.Worker.Gone {
		p, ok := s.Process(r.Worker.PID)
		if !ok {
			p = proc.Process{ID: proc.ID{PID: r.Worker.PID}, PPID: l.self}
		}
		l.worker = p.ID
		l.records[p.ID] = &record{Process: p, origin: root}
	}
	l.observe(s)
	if w := l.records[l.worker]; w != nil && w.sent == nil && l.early != nil {
		w.markSent(sent{signal: l.early.signal, snapshot: l.snapshots, tick: l.early.tick})
	}
	for _, m := range l.records {
		switch {
		case m.origin == root || m.PPID != l.self:
		case r.Worker.Gone:
			m.origin = root
		default:
			m.origin = beforeStop
		}
	}
}

// observe takes what lives below drainit now, parents before their children.
func (l *Ledger) observe(s *proc.Snapshot) {
	l.snapshots++
	l.shown = s
	below := s.Descendants(l.self)
	l.living = make(map[int]*record, len(below))
	if w := l.records[l.worker]; w != nil && w.first == 0 && w.exit == nil { // hidden from us, but there
		l.living[w.PID] = w
	}
	for _, p := range below {
		m := l.recordOf(p)
		l.living[p.PID] = m
		if m.first == l.snapshots && l.sentWithGroup(m) {
			m.markSent(sent{signal: l.toGroup.signal, snapshot: l.toGroup.snapshot, unseen: true, tick: l.toGroup.tick})
		}
	}
	for _, m := range l.living {
		if p := l.living[m.PPID]; p != nil {
			m.parent = p.ID
		}
	}
	for _, m := range l.records {
		up := l.records[m.parent]
		if m.last == l.snapshots-1 && m.last > 0 && up != nil && up.sent != nil && m.last >= up.sent.snapshot {
			up.lostChild = true
		}
	}
	l.forget()
}

// recordOf notes what a snapshot shows of a process.
func (l *Ledger) recordOf(p *proc.Process) *record {
	if p.PID == l.worker.PID && l.worker.Start == 0 { // it was hidden from us
		l.records[p.ID] = l.records[l.worker]
		delete(l.records, l.worker)
		l.worker = p.ID
	}
	m := l.records[p.ID]
	if m == nil {
		m = new(record)
		l.records[p.ID] = m
	}
	if m.first == 0 {
		m.first = l.snapshots
	}
	before := m.Process
	m.Process, m.last = *p, l.snapshots
	if p.Args == nil && (p.Exe == "" || p.Exe == before.Exe) { // not read in time
		m.Exe, m.Args = before.Exe, before.Args
	}
	m.program = ProgramOf(&m.Process)
	m.handled |= p.Handled | p.Awaited
	return m
}

// forget drops the dead that no decision can depend on any longer: those that were sent
// nothing, and have none alive below them. A snapshot may miss a process that loses its
// parent under it, so it takes two.
func (l *Ledger) forget() {
	for _, m := range l.records {
		if m.last+1 < l.snapshots {
			continue
		}
		for up := range l.upFrom(m) {
			if up.needed == l.snapshots {
				break
			}
			up.needed = l.snapshots
		}
	}
	maps.DeleteFunc(l.records, func(id proc.ID, m *record) bool {
		return m.needed != l.snapshots && m.sent == nil && id != l.worker
	})
}

// upFrom walks from a process to those above it, itself first. Parents are those of many
// snapshots, of which a recycled pid could close a ring: no walk is longer than all.
func (l *Ledger) upFrom(m *record) iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for range len(l.records) {
			if m == nil || !yield(m) {
				return
			}
			m = l.records[m.parent]
		}
	}
}

// alive is exact for drainit's children, which are waited for: one that is dead and not
// waited for yet has still to say how it died. Of the others the last snapshot tells.
func (l *Ledger) alive(m *record) bool {
	return l.living[m.PID] == m || m.last > 0 && m.PPID == l.self && m.exit == nil
}

func (l *Ledger) workerLives() bool {
	w := l.records[l.worker]
	return w != nil && l.alive(w)
}

// children are drainit's living children, by pid.
func (l *Ledger) children() (all []*record) {
	for _, m := range l.living {
		if m.PPID == l.self {
			all = append(all, m)
		}
	}
	sortByPID(all)
	return all
}

// Exited notes how a child of drainit ended. The last snapshot may have left it out, for
// it was dead by then and not waited for.
func (l *Ledger) Exited(pid int, status unix.WaitStatus) {
	m := l.living[pid]
	if m == nil {
		for _, dead := range l.records { // the youngest, if the pid was recycled
			if dead.PID == pid && dead.exit == nil && (m == nil || dead.Start > m.Start) {
				m = dead
			}
		}
	}
	if m != nil {
		m.exit = &status
		delete(l.living, pid)
	}
}

// Died notes that a process that was watched has ended.
func (l *Ledger) Died(pid int) {
	if m := l.living[pid]; m != nil && m.PPID != l.self {
		delete(l.living, pid)
	}
}
