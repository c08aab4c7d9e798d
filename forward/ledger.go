package forward

import (
	"maps"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Ledger is the history that decisions depend on: the signals that each process was sent, how each child of
// drainit ended, and the snapshots of a stop. By it drainit sends no process a stop signal twice.
type Ledger struct {
	self    int                      // drainit's pid
	leader                           // the worker as drainit waits for it
	Quieted map[proc.ID]proc.Process // those that were sent the quiet signal, until they are resumed

	unseen // what was done without /proc
	// Of a stop, from its first snapshot on.
	Start    *proc.Snapshot // that one, nil before
	look                    // the last
	deliver  unix.Signal    // the stop signal, after the rewrite
	worker   *record        // or its successor; nil where it had gone before the stop
	records  map[proc.ID]*record
	toGroup  *sentToGroup // nil: no process group was signalled as a whole
	deferred uint8        // how often the choice of a successor was put off
	forgotten
}

// leader has the facts about the worker that no snapshot shows.
type leader struct {
	pid        int
	pgid       int  // the process group that the first worker was given
	gone       bool // it has been waited for
	daemonizes bool // the processes that it leaves do its work
}

// unseen is what was done while /proc could not be read.
type unseen struct {
	early     *sent // how the worker was signalled before there was a snapshot
	broadcast bool  // the whole PID namespace was signalled
}

// look is what a snapshot shows.
type look struct {
	shown     *proc.Snapshot
	snapshots int32           // how many there have been in the stop
	now       uint64          // the tick of its request
	living    map[int]*record // by pid
}

// sentToGroup is how a process group was signalled.
type sentToGroup struct {
	pgid int
	sent
}

// forgotten is what still counts of the processes that were signalled and have no record any longer.
type forgotten struct {
	forgot    bool         // one of them had a handler
	groupsHad map[int]bool // by PGID, whether one may have signalled the group
}

// NewLedger returns an empty history for a drainit with this pid. daemonizes says that the processes that the worker
// leaves do its work.
func NewLedger(self int, daemonizes bool) *Ledger {
	return &Ledger{self: self, leader: leader{daemonizes: daemonizes}, Quieted: make(map[proc.ID]proc.Process)}
}

// Started notes the worker, which leads a process group of its own.
func (l *Ledger) Started(pid int) { l.pid, l.pgid = pid, pid }

// begin begins the history of a stop with its first snapshot. The roots are the worker, or all children
// of drainit where it has gone. Other children wait for the worker.
func (s *step) begin(shown *proc.Snapshot) {
	l, r := s.Ledger, s.Request
	l.Start, l.deliver, l.now = shown, r.Signal, r.Tick
	l.records, l.groupsHad = make(map[proc.ID]*record), make(map[int]bool)
	if !l.gone {
		l.worker = &record{Process: l.toWorker(r.Signal, shown).Process, origin: root}
		l.records[l.worker.ID] = l.worker
	}
	l.observe(shown)
	if w := l.worker; w != nil && w.sent == nil && l.early != nil {
		w.markSent(sent{signal: l.early.signal, snapshot: l.snapshots, tick: l.early.tick})
	}
	for _, m := range l.children() {
		switch {
		case l.gone && !l.daemonizes && m.Reads != (proc.File{}) && !m.Reads.Socket:
			m.reads, s.Holding = true, true // a process that has gone wrote to it, or one that lives does
		case l.gone:
			m.origin = root
		case m != l.worker:
			m.origin = beforeStop
		}
	}
}

// observe takes what lives below drainit now.
func (l *Ledger) observe(s *proc.Snapshot) {
	l.snapshots++
	before := l.shown
	l.shown, l.living = s, make(map[int]*record)
	if w := l.worker; w != nil && w.first == 0 && w.exit == nil { // hidden from us, but there
		l.living[w.PID] = w
	}
	for _, p := range s.Descendants(l.self) {
		m := l.recordOf(p, before)
		l.living[p.PID] = m
		if m.first == l.snapshots && l.sentWithGroup(m) {
			m.markSent(l.toGroup.sent)
		}
	}
	for _, m := range l.living {
		if p := l.living[m.PPID]; p != nil && p.Start <= m.Start && !p.isBelow(m) { // else a pid was recycled meanwhile
			m.parent, p.isParent = p, true
		}
	}
	l.forget()
}

// forget drops the records of processes that have gone and that no rule needs again: a drain may last for ever. The
// record of a signalled process stays while one below it has a record, and always if it was in the first snapshot.
func (l *Ledger) forget() {
	for _, m := range l.records {
		for up := m.parent; up != nil && up.lastWithBelow != l.snapshots; up = up.parent {
			up.lastWithBelow = l.snapshots
		}
	}
	groups := make(map[int]bool)
	for id, m := range l.records {
		_, listed := l.shown.Process(m.PID)
		gone := m.sent == nil || m.first > 1 && m.lastWithBelow != l.snapshots && (m.exit != nil || !listed)
		switch {
		case m.last == l.snapshots-1 && m.parent != nil:
			m.parent.lostChild = m.parent.lostChild || m.parent.sent != nil
		case m.last < l.snapshots-1 && m != l.worker && gone: // one snapshot may miss an orphan
			if m.sent != nil {
				l.forgot = l.forgot || m.mayHaveHandled()
				l.groupsHad[m.PGID] = l.groupsHad[m.PGID] || m.sent.handled && m.isParent
			}
			delete(l.records, id)
			continue
		}
		groups[m.PGID] = true
	}
	maps.DeleteFunc(l.groupsHad, func(pgid int, _ bool) bool { return !groups[pgid] })
}

// recordOf notes what a snapshot shows of a process. shown is the snapshot before.
func (l *Ledger) recordOf(p *proc.Process, shown *proc.Snapshot) *record {
	m := l.records[p.ID]
	switch w := l.worker; {
	case m != nil:
	case w != nil && w.PID == p.PID && w.first == 0 && w.exit == nil: // it was hidden from us
		delete(l.records, w.ID)
		m = w
	default:
		m = new(record)
	}
	l.records[p.ID] = m
	if m.first == 0 {
		m.first, m.firstCall, m.ignored = l.snapshots, p.Call, ^signals.Set(0)
	}
	before := m.Process
	m.Process, m.last = *p, l.snapshots
	if p.Args == nil && (p.Exe == "" || p.Exe == before.Exe) { // not read in time
		m.Exe, m.Args = before.Exe, before.Args
	}
	m.execed = m.execed || before.Exe != "" && m.Exe != before.Exe
	m.kind = program.Of(&m.Process)
	m.handled |= p.Handled | p.Awaited
	m.ignored &= p.Ignored &^ p.Awaited
	if !p.SleptSince(&before) {
		m.asleepSince = l.now
	}
	if m.Untouched {
		m.lastUntouched = l.snapshots
	}
	switch {
	case l.shown.HasWriters(m.PID):
		m.reads, m.readsUntil = true, l.now
	case !shown.HasWriters(m.PID) && m.sleptAtItsEnd(): // a snapshot is no moment: the last may be of before the end
		m.reads = false
	}
	return m
}

// all are the living, each after its parent.
func (l *Ledger) all() (all []*record) {
	if w := l.worker; w != nil && w.first == 0 && l.living[w.PID] == w { // hidden from us, but there
		all = append(all, w)
	}
	for _, p := range l.shown.Descendants(l.self) {
		if m := l.living[p.PID]; m != nil {
			all = append(all, m)
		}
	}
	return all
}

// alive reports whether a process lives. A dead child of drainit counts as alive until drainit has waited for it and
// knows its status. Any other process lives if the last snapshot shows it and no death was noted since (Died).
func (l *Ledger) alive(m *record) bool {
	return m != nil && (l.living[m.PID] == m || m.PPID == l.self && m.exit == nil)
}

// children are drainit's living children, by pid.
func (l *Ledger) children() (all []*record) {
	for _, m := range l.living {
		if m.PPID == l.self {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *record) int { return a.PID - b.PID })
	return all
}

// Exited notes how a child of drainit ended. The last snapshot may lack the child, because it was dead by then
// and not waited for.
func (l *Ledger) Exited(pid int, status unix.WaitStatus) {
	l.gone = l.gone || pid == l.pid
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

// Died notes that a watched process has ended.
func (l *Ledger) Died(pid int) { delete(l.living, pid) }

// Sent notes a delivery that was made, or that is not permitted (EPERM). Neither is made again. tick is
// proc.Ticks from before the delivery.
func (l *Ledger) Sent(d Delivery, tick uint64) {
	how := &sent{signal: d.Signal, snapshot: l.snapshots, tick: tick}
	if d.Target == ToGroup { // a process that was forked between the snapshot and the call is seen later
		l.toGroup = &sentToGroup{d.PGID, *how}
	}
	if l.Start == nil { // /proc could not be read
		l.early = how
		return
	}
	for _, p := range d.Reached() {
		m := l.records[p.ID]
		if m == nil { // it came after the snapshot
			m = &record{Process: proc.Process{ID: p.ID}}
			l.records[p.ID] = m
		}
		if m.sent == nil {
			m.markSent(*how)
		}
	}
}

// sentWithGroup reports whether a new process was signalled with its group. A fork that was under way
// gives its child the signal and a later start (kernel/fork.c, copy_process), much later on a busy
// machine: by then its parent has died of the signal.
func (l *Ledger) sentWithGroup(m *record) bool {
	underWay := uint64(10) // ticks
	if m.PPID == l.self {
		underWay = 1000
	}
	return l.toGroup != nil && m.PGID == l.toGroup.pgid && m.Start <= l.toGroup.tick+underWay
}
