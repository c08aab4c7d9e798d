package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Cascade decides whom drainit tells in the course of one stop: the worker, and
// then each child of drainit's that nobody can have told. It is told what each
// look shows and who has died and how, and answers with tellings; it reads
// nothing, sends nothing and knows no clock. Nobody is told twice.
type Cascade struct {
	self   int         // drainit's pid
	signal unix.Signal // the stop signal to be delivered
	worker proc.ID     // zero where it had gone before the stop
	looks  int         // how many there have been
	forks  bool        // the worker daemonizes: what it leaves when it exits are workers
	known  map[proc.ID]*member
	pids   map[int]*member // those who live
	group  int             // a process group that was told as a whole, 0 for none
	asOne  *told           // how
}

// member is what is known of one process, alive or dead.
type member struct {
	proc.Seen
	kind    Kind
	parent  proc.ID     // the last that was not drainit; zero if none was seen
	first   int         // the look that first showed it
	last    int         // the look that last showed it
	caught  signals.Set // what it caught at any look: a handler may be there for one signal only
	head    bool        // it is told as the worker is
	before  bool        // it was drainit's child before the stop, and no head
	cleanup bool        // it belongs to the stopping
	left    bool        // it was judged: told by another, or left on purpose
	settled bool        // it was the worker, and who its heir is has been decided
	told    *told
	died    bool
	diedOf  unix.Signal // 0 where it exited
}

// told is when a process was told.
type told struct {
	signal unix.Signal
	caught bool   // that it caught it
	look   int    // the look before it
	unseen bool   // with its group, by all that is known
	tick   uint64 // proc.Ticks
}

// Telling is one process to be told, and why.
type Telling struct {
	proc.Seen
	Signal unix.Signal
	Rule   string
}

// NewCascade begins with what a look showed below drainit, whose pid is self,
// before anybody was told. Heads are those to be told as the worker is; the
// other children of drainit wait until the worker has gone. A worker of zero has
// gone already.
func NewCascade(self int, sig unix.Signal, seen []proc.Seen, worker proc.ID, heads []proc.ID) *Cascade {
	c := &Cascade{self: self, signal: sig, worker: worker, known: make(map[proc.ID]*member)}
	for _, id := range heads {
		c.known[id] = &member{Seen: proc.Seen{Process: proc.Process{ID: id, PPID: self}}, head: true}
	}
	c.Look(seen)
	for _, m := range c.known {
		m.before = m.PPID == self && !m.head
	}
	return c
}

// Daemonizes says that a worker that exits has left its work to its children.
func (c *Cascade) Daemonizes() { c.forks = true }

// Look takes what lives below drainit now, parents before their children.
func (c *Cascade) Look(seen []proc.Seen) {
	c.looks++
	c.pids = make(map[int]*member, len(seen))
	for _, m := range c.known {
		if m.head && m.first == 0 && !m.died { // hidden from us, but there
			c.pids[m.PID] = m
		}
	}
	for _, s := range seen {
		m := c.known[s.ID]
		if m == nil {
			m = c.hidden(s)
			c.known[s.ID] = m
		}
		if m.first == 0 {
			m.first = c.looks
		}
		if s.Args == nil && (s.Exe == "" || s.Exe == m.Exe) { // not asked for, this time, or not read in time
			s.Exe, s.Args = m.Exe, m.Args
		}
		m.Seen, m.kind, m.last = s, KindOf(s), c.looks
		m.caught |= s.Caught
		if m.first == c.looks && c.toldWithGroup(m) {
			m.told = &told{signal: c.asOne.signal, caught: m.Catches(c.asOne.signal), look: c.asOne.look, unseen: true, tick: c.asOne.tick}
		}
		c.pids[s.PID] = m
	}
	for _, m := range c.pids {
		if p := c.pids[m.PPID]; p != nil {
			m.parent = p.ID
		}
	}
	c.forget()
}

// hidden is the head that a look shows for the first time, whose start nobody
// knew; else somebody new.
func (c *Cascade) hidden(s proc.Seen) *member {
	m := c.pids[s.PID]
	if m == nil || m.first != 0 {
		return &member{}
	}
	delete(c.known, m.ID)
	if c.worker == m.ID {
		c.worker = s.ID
	}
	return m
}

// forget drops the dead whom nobody can ask for any more: those without a told
// name, and without anybody alive below them. A look may miss who loses its parent
// under it, so it takes two.
func (c *Cascade) forget() {
	asked := make(map[proc.ID]bool)
	for _, m := range c.known {
		if m.last+1 < c.looks {
			continue
		}
		for !asked[m.ID] {
			asked[m.ID] = true
			if p := c.known[m.parent]; p != nil {
				m = p
			}
		}
	}
	for id, m := range c.known {
		if !asked[id] && m.told == nil && id != c.worker {
			delete(c.known, id)
		}
	}
}

// Died notes that a child of drainit died of a signal, or of none (0): it exited.
// The last look may have left it out, for it was dead by then and not waited for.
func (c *Cascade) Died(pid int, of unix.Signal) {
	m := c.pids[pid]
	if m == nil {
		for _, dead := range c.known { // the youngest, if the pid was recycled
			if dead.PID == pid && !dead.died && (m == nil || dead.Start > m.Start) {
				m = dead
			}
		}
	}
	if m != nil {
		m.died, m.diedOf = true, of
		delete(c.pids, pid)
	}
}

// Told notes that a process was sent a signal, or may not be: either way it is
// not told again.
func (c *Cascade) Told(id proc.ID, sig unix.Signal, tick uint64) {
	m := c.known[id]
	if m == nil { // it came after the look
		m = &member{Seen: proc.Seen{Process: proc.Process{ID: id}}}
		c.known[id] = m
	}
	if m.told == nil || m.told.unseen {
		m.told = &told{signal: sig, caught: m.Catches(sig), look: c.looks, tick: tick}
	}
}

// ToldGroup notes that a process group was sent a signal by one call, at a tick.
// Who was forked between the look and the call was sent it too, and is seen later.
func (c *Cascade) ToldGroup(group int, sig unix.Signal, tick uint64) {
	c.group, c.asOne = group, &told{signal: sig, look: c.looks, tick: tick}
}

// toldWithGroup reports whether one who is seen for the first time was told with
// its group. A fork that was under way gives its child the signal and a later start
// (kernel/fork.c, copy_process), much later on a busy machine: by then its parent has
// died of the signal. In doubt it was told, for nobody is told twice.
func (c *Cascade) toldWithGroup(m *member) bool {
	if c.asOne == nil || m.told != nil || m.PGID != c.group {
		return false
	}
	const underWay, orphaned = 10, 100 // ticks
	if m.PPID == c.self {
		return m.Start <= c.asOne.tick+orphaned
	}
	return m.Start <= c.asOne.tick+underWay
}

// WasTold reports whether a process was told, and what.
func (c *Cascade) WasTold(id proc.ID) (unix.Signal, bool) {
	if m := c.known[id]; m != nil && m.told != nil {
		return m.told.signal, true
	}
	return 0, false
}

// Heads returns the tellings of those who are told as the worker is.
func (c *Cascade) Heads(rule string) []Telling {
	var all []Telling
	for _, m := range c.known {
		if m.head && m.told == nil && !m.died {
			all = append(all, Telling{m.Seen, c.signalFor(m), rule})
		}
	}
	slices.SortFunc(all, func(a, b Telling) int { return a.PID - b.PID })
	return all
}

// signalFor is what a process is told: the stop signal to be delivered if it
// catches that, else TERM. A launcher heeds TERM at most. A shell ignores QUIT,
// and on INT waits for its child or dies, whatever trap it has for TERM; so it is
// told TERM unless it has a trap for the signal itself.
func (c *Cascade) signalFor(m *member) unix.Signal {
	switch {
	case m.kind == Launcher, m.kind == Shell && (c.signal == unix.SIGINT || !m.Catches(c.signal)):
		return unix.SIGTERM
	case m.head && m.ID == c.worker, m.Catches(c.signal):
		return c.signal
	}
	return unix.SIGTERM
}
