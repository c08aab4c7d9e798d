package forward

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Judge returns the children of drainit that have to be told now, by the rules
// of the stop. In the last seconds of a grace these are all that were not told.
func (c *Cascade) Judge(last bool) []Telling {
	var all []Telling
	for _, pid := range c.children() {
		m := c.pids[pid]
		const nearlyOver = "the grace is nearly over and nobody has told it"
		if m.told != nil {
			if last && m.told.unseen && !m.caught.Has(m.told.signal) { // it would be dead
				all = append(all, Telling{m.Seen, c.signalFor(m), nearlyOver})
			}
			continue
		}
		rule, tell := c.judge(m)
		if last && !tell {
			rule, tell = nearlyOver, true
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
	if parent != nil {
		return c.judgeOrphan(m, parent)
	}
	if m.cleanup = c.afterOneThatStopped(m); m.cleanup {
		return c.leave(m)
	}
	return "its parent is not known", true
}

// judgeOrphan is the rules for one whose parent is known.
func (c *Cascade) judgeOrphan(m, parent *member) (rule string, tell bool) {
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
	case c.forks && parent.head && parent.died && parent.diedOf == 0:
		return fmt.Sprintf("its parent %s has daemonized", name(parent)), true
	case above != nil && tellsGroup(above) && m.PGID == parent.PGID:
		return c.leave(m)
	case parent.cleanup, above != nil && c.startedBy(m, above):
		m.cleanup = true
		return c.leave(m)
	case above == nil && !top.before, above != nil && above != parent && !above.told.caught:
		return fmt.Sprintf("its parent %s was not told", name(parent)), true
	case !caughtIt(parent, passed):
		return fmt.Sprintf("its parent %s did not catch it", name(parent)), true
	case diedOfIt(parent, passed):
		return fmt.Sprintf("its parent %s died of it", name(parent)), true
	case !m.caught.Has(passed):
		return fmt.Sprintf("its parent %s is gone, and it lives without catching %s", name(parent), signals.Name(passed)), true
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
	for range len(c.known) { // a recycled pid could close a ring
		switch {
		case by == nil:
			return false
		case by == above, !bornAfter(by, above): // above itself, told with its group, may be seen later
			return caughtIt(by, above.told.signal) && !diedOfIt(by, above.told.signal)
		}
		by = c.known[by.parent]
	}
	return false
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

// alive is exact for drainit's children, who are waited for: one that is dead and
// not waited for yet has still to say how it died. Of the others the last look
// tells.
func (c *Cascade) alive(m *member) bool {
	return c.pids[m.PID] == m || m.last > 0 && m.PPID == c.self && !m.died
}

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
	return m.caught.Has(passed)
}

// diedOfIt reports whether a stop signal killed a process. A shell that had a
// trap has run it: that it then died by the same signal is good manners.
func diedOfIt(m *member, passed unix.Signal) bool {
	switch {
	case m.diedOf == 0, m.kind == Shell && caughtIt(m, passed) && !hasExitTrap(m):
		return false
	case m.told != nil:
		return m.diedOf == m.told.signal
	}
	return m.diedOf == passed || m.diedOf == unix.SIGTERM
}

// hasExitTrap reports whether a bash has a trap for EXIT, for which it catches all
// the signals that end a process, and dies of them all the same.
func hasExitTrap(m *member) bool {
	return m.caught.Has(unix.SIGXCPU) && m.caught.Has(unix.SIGVTALRM)
}

// tellsGroup reports whether a program passes the stop signal on to a whole
// process group by itself: timeout(1), dumb-init, and tini with -g.
func tellsGroup(m *member) bool {
	switch m.Exe {
	case "timeout", "dumb-init":
		return true
	case "tini", "tini-static":
		return slices.Contains(m.Args, "-g")
	}
	return false
}

func name(m *member) string { return fmt.Sprintf("%s[%d]", m.Comm, m.PID) }
