package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// cascade is a plan in the making: who gets the signal beside those that it began with.
type cascade struct {
	l       *Ledger
	planned map[proc.ID]bool
	plan    []Delivery
}

func (l *Ledger) newCascade() *cascade {
	return &cascade{l: l, planned: make(map[proc.ID]bool)}
}

// add adds a delivery and what follows from it: what can't act upon the signal signals none
// below it.
func (c *cascade) add(d Delivery) {
	c.plan = append(c.plan, d)
	reached := []proc.Process{d.Process}
	if d.Target == ToGroup {
		reached = d.Members
	}
	for _, p := range reached {
		c.planned[p.ID] = true
	}
	for i := range reached {
		if why := deafAtOnce(&reached[i], d.Signal); why != "" {
			for _, child := range c.l.shown.Children(reached[i].PID) {
				c.pass(child, "below "+reached[i].String()+", which "+why, false)
			}
		}
	}
}

// pass signals the first on each way down that handles the signal. One that does not
// would only die of it: it works on, and may be what the one above it waits for. Where these may
// have been signalled, it goes to those that are untouched.
func (c *cascade) pass(p *proc.Process, why string, uncertain bool) {
	m := c.l.living[p.PID]
	if m == nil || c.leaves(m) {
		return
	}
	if m.actsUpon(c.l.signalFor(m)) {
		if !uncertain || m.Untouched {
			c.add(c.l.delivery(m, why))
		}
		return
	}
	for _, child := range c.l.shown.Children(p.PID) {
		c.pass(child, why, uncertain)
	}
}

// leaves reports whether a process is left alone: it was signalled, it is about to be, it
// dies already, or it reads a pipe that a living process writes to.
func (c *cascade) leaves(m *record) bool {
	return m.sent != nil || m.isDying() || c.planned[m.ID] || c.l.shown.HasWriters(m.PID)
}

// toRoots are the deliveries to those that are signalled as the worker is. What reads a
// pipe of another has its turn when that has gone.
func (l *Ledger) toRoots(why string) []Delivery {
	var roots []*record
	for _, m := range l.records {
		if m.origin == root && m.sent == nil && m.exit == nil && (m.ID == l.worker || !l.shown.HasWriters(m.PID)) {
			roots = append(roots, m)
		}
	}
	sortByPID(roots)
	c := l.newCascade()
	for _, m := range roots { // none of which is below another: each is drainit's child
		c.add(l.delivery(m, why))
	}
	return c.plan
}

func (l *Ledger) delivery(m *record, why string) Delivery {
	child := m.PPID == l.self || m.ID == l.worker
	return Delivery{Process: m.Process, Signal: l.signalFor(m), Child: child, Rule: why, Stop: true}
}

// signalFor is what a process is sent: the stop signal if it handles that, else TERM. A
// launcher heeds TERM at most. A shell ignores QUIT, and on INT waits for its child or
// dies, whatever trap it has for TERM; so it is sent TERM unless it has a trap for the
// signal itself.
func (l *Ledger) signalFor(m *record) unix.Signal {
	switch {
	case m.program == Launcher, m.program == Shell && (l.deliver == unix.SIGINT || !m.Handles(l.deliver)):
		return unix.SIGTERM
	case m.origin == root && m.ID == l.worker, m.Handles(l.deliver):
		return l.deliver
	}
	return unix.SIGTERM
}
