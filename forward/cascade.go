package forward

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/reaper"
)

// Cascade decides whom drainit tells in the course of one stop: the worker, and
// then each child of drainit's that nobody can have told. It is told what each
// look shows and who has died and how, and answers with tellings; it reads
// nothing, sends nothing and knows no clock. Nobody is told twice.
type Cascade struct {
	self   int         // drainit's pid
	signal unix.Signal // the stop signal to be delivered
	worker reaper.ID   // zero where it had gone before the stop
	looks  int         // how many there have been
	known  map[reaper.ID]*member
	pids   map[int]*member // those who live
}

// member is what is known of one process, alive or dead.
type member struct {
	reaper.Seen
	kind    Kind
	parent  reaper.ID // the last that was not drainit; zero if none was seen
	first   int       // the look that first showed it
	last    int       // the look that last showed it
	caught  uint64    // what it caught at any look: a handler may be there for one signal only
	head    bool      // it is told as the worker is
	before  bool      // it was drainit's child before the stop, and no head
	cleanup bool      // it belongs to the stopping
	left    bool      // it was judged: told by another, or left on purpose
	settled bool      // it was the worker, and who its heir is has been decided
	told    *told
	died    bool
	diedOf  unix.Signal // 0 where it exited
}

// told is when a process was told.
type told struct {
	signal unix.Signal
	caught bool   // that it caught it
	look   int    // the look before it
	tick   uint64 // reaper.Ticks
}

// Telling is one process to be told, and why.
type Telling struct {
	reaper.Seen
	Signal unix.Signal
	Rule   string
}

// NewCascade begins with what a look showed below drainit, whose pid is self,
// before anybody was told. Heads are those to be told as the worker is; the
// other children of drainit wait until the worker has gone. A worker of zero has
// gone already.
func NewCascade(self int, sig unix.Signal, seen []reaper.Seen, worker reaper.ID, heads []reaper.ID) *Cascade {
	c := &Cascade{self: self, signal: sig, worker: worker, known: make(map[reaper.ID]*member)}
	for _, id := range heads {
		c.known[id] = &member{Seen: reaper.Seen{Process: reaper.Process{ID: id, PPID: self}}, head: true}
	}
	c.Look(seen)
	for _, m := range c.known {
		m.before = m.PPID == self && !m.head
	}
	return c
}

// Look takes what lives below drainit now, parents before their children.
func (c *Cascade) Look(seen []reaper.Seen) {
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
		if s.Exe == "" && s.Args == nil { // not asked for, this time
			s.Exe, s.Args = m.Exe, m.Args
		}
		m.Seen, m.kind, m.last = s, KindOf(s), c.looks
		m.caught |= s.Caught
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
func (c *Cascade) hidden(s reaper.Seen) *member {
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
	asked := make(map[reaper.ID]bool)
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
func (c *Cascade) Died(pid int, of unix.Signal) {
	if m := c.pids[pid]; m != nil {
		m.died, m.diedOf = true, of
		delete(c.pids, pid)
	}
}

// Told notes that a process was sent a signal, or may not be: either way it is
// not told again.
func (c *Cascade) Told(id reaper.ID, sig unix.Signal, tick uint64) {
	m := c.known[id]
	if m == nil { // it came after the look
		m = &member{Seen: reaper.Seen{Process: reaper.Process{ID: id}}}
		c.known[id] = m
	}
	if m.told == nil {
		m.told = &told{sig, m.Catches(sig), c.looks, tick}
	}
}

// WasTold reports whether a process was told, and what.
func (c *Cascade) WasTold(id reaper.ID) (unix.Signal, bool) {
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
// catches that, else TERM. A shell without a trap for TERM waits for its child
// on INT and ignores QUIT, and a launcher heeds neither, so both are told TERM.
func (c *Cascade) signalFor(m *member) unix.Signal {
	switch {
	case m.kind == Shell && !m.Catches(unix.SIGTERM), m.kind == Launcher:
		return unix.SIGTERM
	case m.head && m.ID == c.worker, m.Catches(c.signal):
		return c.signal
	}
	return unix.SIGTERM
}

// Judge returns the children of drainit that have to be told now, by the rules
// of the stop. In the last seconds of a grace these are all that were not told.
func (c *Cascade) Judge(last bool) []Telling {
	var all []Telling
	for _, pid := range c.children() {
		m := c.pids[pid]
		if m.told != nil {
			continue
		}
		rule, tell := c.judge(m)
		if last && !tell {
			rule, tell = "the grace is nearly over and nobody has told it", true
		}
		if tell {
			all = append(all, Telling{m.Seen, c.signalFor(m), rule})
		}
	}
	return all
}

// children are the pids of drainit's living children, in their order.
func (c *Cascade) children() []int {
	var pids []int
	for pid, m := range c.pids {
		if m.PPID == c.self {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// judge is the rules for one child that was not told.
func (c *Cascade) judge(m *member) (rule string, tell bool) {
	switch {
	case m.left:
		return "", false
	case m.before:
		return c.judgeBefore()
	}
	parent := c.known[m.parent]
	if parent == nil {
		if m.cleanup = c.afterOneThatStopped(m); m.cleanup {
			return c.leave(m)
		}
		return "its parent is not known", true
	}
	above, top := c.nearestTold(parent), c.top(parent)
	passed := c.signal // what the parent can have been passed by another
	if above != nil {
		passed = above.told.signal
	}
	switch {
	case above != nil && c.alive(above):
		return "", false // it is still handling the stop
	case above == nil && top.before && c.alive(top):
		return "", false // its turn comes when that one's has
	case parent.cleanup, above != nil && c.startedBy(m, above):
		m.cleanup = true
		return c.leave(m)
	case above == nil && !top.before, above != nil && above != parent && !above.told.caught:
		return fmt.Sprintf("its parent %s was not told", name(parent)), true
	case !caughtIt(parent, passed):
		return fmt.Sprintf("its parent %s did not catch it", name(parent)), true
	case diedOfIt(parent, passed):
		return fmt.Sprintf("its parent %s died of it", name(parent)), true
	case m.caught&bit(passed) == 0:
		return fmt.Sprintf("its parent %s is gone, and it lives without catching %s", name(parent), Name(passed)), true
	}
	return c.leave(m)
}

// judgeBefore is for what was drainit's child before the stop, a daemon that an
// entrypoint started: its turn comes when the worker has gone. A shell with a
// trap has seen to its daemons itself.
func (c *Cascade) judgeBefore() (rule string, tell bool) {
	w := c.known[c.worker]
	if w != nil && (c.alive(w) || w.kind == Shell && w.told != nil && w.told.caught) {
		return "", false
	}
	return "it was there before the stop, and the worker has gone", true
}

// leave is final: a handler that goes when it was used is no sign later.
func (c *Cascade) leave(m *member) (rule string, tell bool) {
	m.left = true
	return "", false
}

// nearestTold is the first at or above m that drainit told, nil if none is known.
func (c *Cascade) nearestTold(m *member) *member {
	for range len(c.known) { // a recycled pid could close a ring
		if m == nil || m.told != nil {
			return m
		}
		m = c.known[m.parent]
	}
	return nil
}

// top is the last known at or above m. If it was drainit's child before the stop,
// what is below it is its own business.
func (c *Cascade) top(m *member) *member {
	for range len(c.known) {
		up := c.known[m.parent]
		if up == nil {
			break
		}
		m = up
	}
	return m
}

// startedBy reports whether m was started in the course of the stopping: after
// above was told, by a process that caught the signal, or by what such a one has
// started since.
func (c *Cascade) startedBy(m, above *member) bool {
	if !above.told.caught || !bornAfter(m, above) {
		return false
	}
	by := c.known[m.parent]
	for range len(c.known) {
		if !bornAfter(by, above) {
			break
		}
		by = c.known[by.parent]
	}
	return caughtIt(by, above.told.signal) && !diedOfIt(by, above.told.signal)
}

// afterOneThatStopped is for a child whose parent came and went between two
// looks, or only became one after the last. It was started in the course of the
// stopping if it is younger than the telling of one in its session that caught
// the signal and has gone since.
func (c *Cascade) afterOneThatStopped(m *member) bool {
	for _, p := range c.known {
		if p.told != nil && p.told.caught && p.SID == m.SID && !c.alive(p) && !diedOfIt(p, c.signal) && bornAfter(m, p) {
			return true
		}
	}
	return false
}

// Deaf is a shell that seems to wait for a child before it can run its trap.
type Deaf struct{ Shell, Child reaper.Seen }

// Deaf returns the shells that were told at least so many ticks before now and
// caught the signal, each with a child that has lived since before. A child with
// INT and QUIT ignored is none such: so a shell starts what it does not wait for.
func (c *Cascade) Deaf(now, ticks uint64) []Deaf {
	var all []Deaf
	for _, m := range c.pids {
		p := c.pids[m.PPID]
		if p == nil || p.kind != Shell || p.told == nil || !p.told.caught || p.told.tick+ticks > now {
			continue
		}
		if m.first <= p.told.look && !m.Ignores(unix.SIGINT) && !m.Ignores(unix.SIGQUIT) {
			all = append(all, Deaf{p.Seen, m.Seen})
		}
	}
	return all
}

// alive is exact for drainit's children, who are waited for here; of the others
// the last look tells.
func (c *Cascade) alive(m *member) bool { return c.pids[m.PID] == m }

// bornAfter reports whether m was started after p was told. A tick is a hundredth
// of a second, so the looks say what one tick can't.
func bornAfter(m, p *member) bool {
	return m.Start >= p.told.tick && m.first > p.told.look
}

// caughtIt reports whether a process caught what it was told, or what another
// will have passed it.
func caughtIt(m *member, passed unix.Signal) bool {
	if m.told != nil {
		return m.told.caught
	}
	return m.caught&bit(passed) != 0
}

// diedOfIt reports whether a stop signal killed a process. A shell that had a
// trap has run it: that it then died by the same signal is good manners.
func diedOfIt(m *member, passed unix.Signal) bool {
	switch {
	case m.diedOf == 0, m.kind == Shell && caughtIt(m, passed):
		return false
	case m.told != nil:
		return m.diedOf == m.told.signal
	}
	return m.diedOf == passed || m.diedOf == unix.SIGTERM
}

// Succeed makes the heir of a worker the worker. A shell or a launcher that died
// by the very signal that drainit sent it says nothing about the work; if exactly
// one child that came from it catches the signal, that one's status does. Where
// none does, a single shell or launcher may have an heir in its turn. The first
// look after the death decides.
func (c *Cascade) Succeed() (heir reaper.Seen, ok bool) {
	w := c.known[c.worker]
	if w == nil || w.settled || w.kind == Plain || w.told == nil || w.diedOf != w.told.signal {
		return reaper.Seen{}, false
	}
	w.settled = true
	var catching, passing []*member
	for _, pid := range c.children() {
		m := c.pids[pid]
		if m.told == nil {
			_, _ = c.judge(m) // which may find that it is a clean-up
		}
		switch {
		case !c.top(m).head || m.cleanup:
		case m.caught&bit(c.signal) != 0 && !(m.kind == Shell && !m.Catches(unix.SIGTERM)):
			catching = append(catching, m)
		case m.kind != Plain:
			passing = append(passing, m)
		}
	}
	if len(catching) == 0 {
		catching = passing
	}
	if len(catching) != 1 {
		return reaper.Seen{}, false
	}
	c.worker = catching[0].ID
	return catching[0].Seen, true
}

func name(m *member) string { return fmt.Sprintf("%s[%d]", m.Comm, m.PID) }

func bit(sig unix.Signal) uint64 { return 1 << (uint(sig) - 1) }
