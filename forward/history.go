package forward

import (
	"cmp"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// History is what decisions depend on: the signals that each process was sent, how each child of drainit
// ended, and the snapshots of a stop. It keeps drainit from sending a process the stop signal twice, but for
// a shell that INT has not ended.
type History struct {
	self    int                      // drainit's pid
	leader                           // the worker as drainit waits for it
	quieted map[proc.ID]proc.Process // those that were sent the quiet signal, until they are resumed

	broadcast bool // the whole PID namespace was signalled, without /proc
	// Of a stop, from its first snapshot on.
	Start    *proc.Snapshot // the first snapshot, nil before a stop
	sight                   // what the last snapshot shows
	byKey    bool           // it came by a key of the terminal (Request.ByKey)
	deliver  unix.Signal    // the stop signal, after the rewrite
	worker   *record        // or its successor, nil if the worker had gone before the stop
	records  map[proc.ID]*record
	strays   map[int]int32 // by SID, the last snapshot with one that came in the stop from an unknown process
	toGroup  *sentToGroup  // nil if no process group was signalled as a whole
	deferred uint8         // how often the choice of a successor was put off
}

// leader is what the caller has noted about the worker, and no snapshot shows.
type leader struct {
	pid        int
	pgid       int                      // the process group that the first worker was given
	gone       bool                     // it has been waited for
	daemonizes bool                     // the processes that it leaves do its work
	got        map[unix.Signal]Delivery // the last of each signal that it was sent
}

// sight is what drainit knows from the last snapshot of a stop, without the processes that have died since:
// which processes live, and whether the work does.
type sight struct {
	shown     *proc.Snapshot
	snapshots int32           // how many there have been in the stop
	now       uint64          // the tick of the request that the snapshot is for
	living    map[int]*record // by pid
	all       []*record       // those that lived then, each after its parent
	working   bool            // the worker lives, or a process that came from it
	workEnded uint64          // if none lives, the tick of the snapshot that first showed it
}

// sentToGroup is how a process group was signalled.
type sentToGroup struct {
	pgid int
	sent
}

// NewHistory returns an empty history. self is drainit's pid. daemonizes says that the processes that the
// worker leaves do its work.
func NewHistory(self int, daemonizes bool) *History {
	return &History{
		self:    self,
		leader:  leader{daemonizes: daemonizes, got: make(map[unix.Signal]Delivery)},
		quieted: make(map[proc.ID]proc.Process),
	}
}

// Started notes the pid of the worker, which leads a process group of its own.
func (h *History) Started(pid int) { h.pid, h.pgid = pid, pid }

// begin begins the history of a stop with its first snapshot. The root is the worker. If it has gone, all
// children of drainit are roots. Unless the worker daemonizes, a child that reads a pipe is none then: it may
// end by itself. Beside a living worker, the other children were there before the stop, and wait for the
// worker.
func (s *step) begin(shown *proc.Snapshot) {
	h, r := s.History, s.Request
	h.Start, h.deliver, h.byKey, h.now = shown, r.Signal, r.ByKey, r.Tick
	h.records, h.strays = make(map[proc.ID]*record), make(map[int]int32)
	if !h.gone {
		h.worker = &record{Process: h.toWorker(r.Signal, shown).Process, origin: root}
		h.records[h.worker.ID] = h.worker
	}
	h.observe(shown)
	for _, d := range h.got {
		if h.worker != nil && d.Stop && d.Tick != 0 { // before /proc could be read
			h.worker.markSent(sent{signal: d.Signal, snapshot: h.snapshots, tick: d.Tick})
		}
	}
	for _, m := range h.living {
		switch {
		case m.PPID != h.self:
		case h.gone && !h.daemonizes && m.Reads != (proc.File{}) && !m.Reads.Socket:
			m.reads = true // a process that has gone wrote to it, or one that lives does
			s.lookAgain(s.now + actsAfter)
		case h.gone:
			m.origin = root
		case m != h.worker:
			m.origin = beforeStop
		}
		if h.getsKey(m) {
			m.origin = root
		}
	}
}

// observe notes what a snapshot shows below drainit: the living processes, their parents, and whether the
// worker or a process that came from it lives.
func (h *History) observe(s *proc.Snapshot) {
	h.snapshots++
	before := h.shown
	h.shown, h.living, h.all = s, make(map[int]*record), nil
	for _, p := range s.Descendants(h.self) {
		m := h.recordOf(p, before)
		h.living[p.PID], h.all = m, append(h.all, m)
		if m.first == h.snapshots && h.sentWithGroup(m) {
			m.markSent(h.toGroup.sent)
		}
	}
	if w := h.worker; w != nil && w.first == 0 && w.exit == nil { // hidden from us, but there
		h.living[w.PID], h.all = w, append([]*record{w}, h.all...)
	}
	for _, m := range h.all {
		p := h.living[m.PPID]
		if p != nil && p.Start <= m.Start && !p.isBelow(m) { // else a pid was recycled meanwhile
			m.parent, p.isParent = cmp.Or(m.parent, p), true
		}
		if m.first > 1 {
			h.cameFrom(m)
		}
	}
	was := h.working
	if h.working = h.workLives(); was {
		h.workEnded = h.now
	}
	h.forget()
}

// cameFrom notes that the new snapshot shows a living process that was started in the stop: in lastForked of
// its parent, and in lastStarted of each process above it. If it is not known from which process the topmost
// of these came, cameFrom notes it for the session, too (strays).
func (h *History) cameFrom(m *record) {
	if m.parent != nil {
		m.parent.lastForked = h.snapshots
	}
	top := m
	for top.parent != nil {
		top = top.parent
		top.lastStarted = h.snapshots
	}
	if top.origin == belowWorker {
		h.strays[top.SID] = h.snapshots
	}
}

// forget drops the records of processes that have gone without a signal, or without a handler a minute after
// it: a drain may last for ever. It also notes which signalled processes have lost a child.
func (h *History) forget() {
	for id, m := range h.records {
		tellsNothing := m.sent == nil || !m.sent.handled && m.first > 1 && h.now > m.sent.tick+60*aSecond
		switch {
		case m.last == h.snapshots-1 && m.parent != nil:
			m.parent.lostChild = m.parent.lostChild || m.parent.sent != nil
		case m.last < h.snapshots-1 && m != h.worker && tellsNothing: // one snapshot may miss an orphan
			delete(h.records, id)
		}
	}
}

// recordOf enters what the new snapshot shows of a process in the record of that process, and returns the
// record. last is the snapshot before the new one, nil for none.
func (h *History) recordOf(p *proc.Process, last *proc.Snapshot) *record {
	m := h.records[p.ID]
	switch w := h.worker; {
	case m != nil:
	case w != nil && w.PID == p.PID && w.first == 0 && w.exit == nil: // it was hidden from us
		delete(h.records, w.ID)
		m = w
	default:
		m = new(record)
	}
	h.records[p.ID] = m
	if m.first == 0 {
		m.first, m.firstCall, m.alwaysIgnored = h.snapshots, p.Call, ^signals.Set(0)
	}
	before := m.Process
	m.Process, m.last = *p, h.snapshots
	if p.Args == nil && (p.Exe == "" || p.Exe == before.Exe) { // not read in time
		m.Exe, m.Args = before.Exe, before.Args
	}
	m.execed = m.execed || before.Exe != "" && m.Exe != before.Exe
	h.gather(m, &before)
	switch {
	case h.shown.ShowsWriters(m.PID) && h.hasWriter(m):
		m.reads, m.readsUntil = true, h.now
	case !last.HasWriters(m.PID) && m.sleptAtItsEnd(): // the last snapshot may be of before the end
		m.reads = false
	}
	return m
}

// gather adds to the evidence what the new snapshot shows of a process. before is the process in the snapshot
// before.
func (h *History) gather(m *record, before *proc.Process) {
	if m.kind = program.Of(&m.Process); h.deliver == unix.SIGINT && program.TakesTERM(h.shown, &m.Process) {
		m.kind = program.Launcher
	}
	m.everHandled |= m.Handled | m.Awaited
	m.alwaysIgnored &= m.Ignored &^ m.Awaited
	m.survived |= m.Ignored | m.Blocked | m.Pending
	if m.adopted == 0 && h.isOrphan(m) && h.snapshots > 1 && m.origin == belowWorker {
		m.adopted = h.now
	}
	mayHaveRun := m.HasRunSince(before)
	if mayHaveRun {
		m.lastRun = h.snapshots
	}
	if mayHaveRun && !m.SleptSince(before) {
		m.asleepSince = h.now
	}
	if m.Untouched {
		m.lastUntouched = h.snapshots
	}
	how := m.sent // a signal that was blocked and is no longer pending was taken, as by sigtimedwait(2)
	if how != nil && how.blocked && !m.Pending.Has(how.signal) && m.On(how.signal) != proc.Dies {
		how.handled = true
	}
}

// alive reports whether a process lives. A dead child of drainit counts as alive until drainit has waited
// for it and knows its status. Any other process lives if the last snapshot shows it and no death was noted
// since (Died).
func (h *History) alive(m *record) bool {
	return m != nil && (h.living[m.PID] == m || m.PPID == h.self && m.exit == nil)
}

// Exited notes how a child of drainit ended. The last snapshot may lack the child, which was a zombie by
// then. So it is looked for among all that drainit has not waited for.
func (h *History) Exited(pid int, status unix.WaitStatus) {
	h.gone = h.gone || pid == h.pid
	if m := h.unreaped(pid); m != nil {
		m.exit = &status
		delete(h.living, pid)
	}
}

// unreaped returns the record of a child that drainit has still to wait for, nil for none.
func (h *History) unreaped(pid int) *record {
	m := h.living[pid]
	if m != nil {
		return m
	}
	for _, dead := range h.records { // the youngest, if the pid was recycled
		if dead.PID == pid && dead.exit == nil && (m == nil || dead.Start > m.Start) {
			m = dead
		}
	}
	return m
}

// Died notes that a watched process has ended. Its pid may be another's by now.
func (h *History) Died(id proc.ID) {
	if m := h.living[id.PID]; m != nil && m.ID == id {
		delete(h.living, id.PID)
	}
}
