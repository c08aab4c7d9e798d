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
	stopped map[int]bool             // children that wait4 saw stop, by pid

	early *sent // how the worker was signalled before there was a snapshot

	// Of a stop, from its first snapshot on.
	begun     bool
	deliver   unix.Signal // the stop signal, after the rewrite
	worker    proc.ID     // zero where it had gone before the stop
	snapshots int32       // how many there have been
	now       uint64      // the tick of the last request
	forks     bool        // the worker daemonizes: what it leaves when it exits are workers
	records   map[proc.ID]*record
	living    map[int]*record // by pid
	group     int             // a process group that was signalled as a whole, 0 for none
	toGroup   *sent           // how
	broadcast bool            // the whole PID namespace was signalled
	successor *proc.Process   // that took the worker's place in the last plan
	undecided []Undecided     // of the last plan
	waiting   []Waiting       // likewise
}

// NewLedger returns the history of a drainit with this pid that has sent nothing.
func NewLedger(self int) *Ledger {
	return &Ledger{self: self, quieted: make(map[proc.ID]proc.Process), stopped: make(map[int]bool)}
}

// Begun reports whether a snapshot of a stop has been taken.
func (l *Ledger) Begun() bool { return l.begun }

// begin begins the history of a stop with its first snapshot, taken before any process
// was signalled. The roots are signalled as the worker is: the worker, or all children of
// drainit where it has gone. The other children wait until it has.
func (l *Ledger) begin(r Request, s *proc.Snapshot) {
	l.begun, l.deliver, l.forks = true, r.Signal, r.Worker.Daemonizes
	l.records = make(map[proc.ID]*record, s.Size())
	if !r.Worker.Gone {
		p, ok := s.Process(r.Worker.PID)
		if !ok {
			p = proc.Process{ID: proc.ID{PID: r.Worker.PID}, PPID: l.self}
		}
		l.worker = p.ID
		l.records[p.ID] = &record{Process: p, root: true}
	}
	l.observe(s)
	if w := l.records[l.worker]; w != nil && w.sent == nil && l.early != nil {
		w.markSent(sent{signal: l.early.signal, snapshot: l.snapshots, tick: l.early.tick})
	}
	for _, m := range l.records {
		m.root = m.root || r.Worker.Gone && m.PPID == l.self
		m.preexisting = m.PPID == l.self && !m.root
	}
}

// observe takes what lives below drainit now, parents before their children.
func (l *Ledger) observe(s *proc.Snapshot) {
	l.snapshots++
	below := s.Descendants(l.self)
	l.living = make(map[int]*record, len(below))
	for _, m := range l.records {
		if m.root && m.first == 0 && !m.exited { // hidden from us, but there
			l.living[m.PID] = m
		}
	}
	for _, p := range below {
		m := l.recordOf(p)
		if l.snapshots == 1 {
			m.evidence, m.stack = s.Evidence(p.PID), s.Stack(p.PID)
		}
		l.living[p.PID] = m
		if m.first == l.snapshots && l.sentWithGroup(m) {
			m.markSent(sent{signal: l.toGroup.signal, snapshot: l.toGroup.snapshot, unseen: true, tick: l.toGroup.tick})
		}
	}
	for _, m := range l.living {
		m.hasChildren, m.writes = false, false
	}
	for _, m := range l.living {
		if p := l.living[m.PPID]; p != nil {
			m.parent, p.hasChildren = p.ID, true
		}
		m.readsPipe = s.HasWriters(m.PID)
	}
	for _, pid := range s.PipeWriters() {
		if w := l.living[pid]; w != nil {
			w.writes = true
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
	m := l.records[p.ID]
	if m == nil {
		m = l.hidden(p.ID)
		l.records[p.ID] = m
	}
	if m.first == 0 {
		m.first = l.snapshots
	}
	before := m.Process
	m.Process, m.last = *p, l.snapshots
	if p.Args == nil && (p.Exe == "" || p.Exe == before.Exe) { // not asked for, this time, or not read in time
		m.Exe, m.Args = before.Exe, before.Args
	}
	if m.first == l.snapshots || p.Args != nil || m.Exe != before.Exe || m.Comm != before.Comm {
		m.program = ProgramOf(&m.Process)
	}
	m.handled |= p.Handled
	return m
}

// hidden is the root that a snapshot shows for the first time, whose start was not known;
// else a new one.
func (l *Ledger) hidden(id proc.ID) *record {
	m := l.living[id.PID]
	if m == nil || m.first != 0 {
		return &record{}
	}
	delete(l.records, m.ID)
	if l.worker == m.ID {
		l.worker = id
	}
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
	for id, m := range l.records {
		if m.needed != l.snapshots && m.sent == nil && id != l.worker {
			delete(l.records, id)
		}
	}
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

// Exited notes how a child of drainit ended. The last snapshot may have left it out, for
// it was dead by then and not waited for.
func (l *Ledger) Exited(pid int, status unix.WaitStatus) {
	delete(l.stopped, pid)
	m := l.living[pid]
	if m == nil {
		for _, dead := range l.records { // the youngest, if the pid was recycled
			if dead.PID == pid && !dead.exited && (m == nil || dead.Start > m.Start) {
				m = dead
			}
		}
	}
	if m != nil {
		m.exited, m.status = true, status
		delete(l.living, pid)
	}
}

// Stopped notes that a child of drainit was stopped, or continued.
func (l *Ledger) Stopped(pid int, stopped bool) { l.stopped[pid] = stopped }

// IsStopped reports whether a child was stopped when it changed last.
func (l *Ledger) IsStopped(pid int) bool { return l.stopped[pid] }

// Sent notes a delivery that was made, or may not be (EPERM): either way it is not made
// again. tick is proc.Ticks from before it was made.
func (l *Ledger) Sent(d Delivery, tick uint64) {
	if !l.begun { // /proc could not be read
		l.early = &sent{signal: d.Signal, tick: tick}
		if d.Target == ToGroup {
			l.group, l.toGroup = d.PGID, l.early
		}
		return
	}
	if d.Target != ToGroup {
		l.sentTo(d.Process.ID, d.Signal, tick)
		return
	}
	// What was forked between the snapshot and the call was sent it too, and is seen later.
	l.group, l.toGroup = d.PGID, &sent{signal: d.Signal, snapshot: l.snapshots, tick: tick}
	for _, p := range d.Members {
		l.sentTo(p.ID, d.Signal, tick)
	}
}

func (l *Ledger) sentTo(id proc.ID, sig unix.Signal, tick uint64) {
	m := l.records[id]
	if m == nil { // it came after the snapshot
		m = &record{Process: proc.Process{ID: id}}
		l.records[id] = m
	}
	if m.sent == nil || m.sent.unseen {
		m.markSent(sent{signal: sig, snapshot: l.snapshots, tick: tick})
	}
}

// Quieted notes that a process was sent the quiet signal.
func (l *Ledger) Quieted(p proc.Process) { l.quieted[p.ID] = p }

// IsQuieted reports whether it was.
func (l *Ledger) IsQuieted(id proc.ID) bool {
	_, sent := l.quieted[id]
	return sent
}

// ForgetQuieted forgets those that have ended.
func (l *Ledger) ForgetQuieted(ended func(proc.ID) bool) {
	maps.DeleteFunc(l.quieted, func(id proc.ID, _ proc.Process) bool { return ended(id) })
}

// Resumed forgets all that were: they may be quieted anew.
func (l *Ledger) Resumed() { clear(l.quieted) }

// sentWithGroup reports whether one that is seen for the first time was signalled with
// its group. A fork that was under way gives its child the signal and a later start
// (kernel/fork.c, copy_process), much later on a busy machine: by then its parent has
// died of the signal. In doubt it was, for none is signalled twice.
func (l *Ledger) sentWithGroup(m *record) bool {
	if l.toGroup == nil || m.sent != nil || m.PGID != l.group {
		return false
	}
	const underWay, orphaned = 10, 1000 // ticks
	if m.PPID == l.self {
		return m.Start <= l.toGroup.tick+orphaned
	}
	return m.Start <= l.toGroup.tick+underWay
}

// WasSent returns the stop signal that a process was sent, 0 for none.
func (l *Ledger) WasSent(id proc.ID) unix.Signal {
	if m := l.records[id]; m != nil && m.sent != nil {
		return m.sent.signal
	}
	return 0
}
