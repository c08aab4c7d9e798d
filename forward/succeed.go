package forward

import (
	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Succeed makes the heir of a worker the worker. A shell or a launcher that died
// by the very signal that drainit sent it says nothing about the work; if exactly
// one child that came from it catches the signal, that one's status does. Where
// none does, a single shell or launcher may have an heir in its turn. The first
// look after the death decides.
func (c *Cascade) Succeed() (heir proc.Seen, ok bool) {
	w := c.known[c.worker]
	if w == nil || w.settled || w.kind == Plain || w.told == nil || w.diedOf != w.told.signal {
		return proc.Seen{}, false
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
		case m.caught.Has(c.signal) && !(m.kind == Shell && !m.Catches(unix.SIGTERM)):
			catching = append(catching, m)
		case m.kind != Plain:
			passing = append(passing, m)
		}
	}
	if len(catching) == 0 {
		catching = passing
	}
	if len(catching) != 1 {
		return proc.Seen{}, false
	}
	c.worker = catching[0].ID
	return catching[0].Seen, true
}

// Deaf is a shell that seems to wait for a child before it can run its trap.
type Deaf struct{ Shell, Child proc.Seen }

// Deaf returns the shells that were told at least so many ticks before now and
// caught the signal, each with the one child that it can be waiting for. A child
// that has INT and QUIT ignored, or leads a process group, is in the background;
// one that is younger than the telling was started by the trap.
func (c *Cascade) Deaf(now, ticks uint64) []Deaf {
	var all []Deaf
	for _, p := range c.pids {
		if p.kind != Shell || p.told == nil || !p.told.caught || p.told.tick+ticks > now {
			continue
		}
		var waited []*member
		runs := false
		for _, m := range c.pids {
			switch {
			case m.PPID != p.PID:
			case m.first > p.told.look:
				runs = true
			case m.PGID != m.PID && !m.Ignores(unix.SIGINT) && !m.Ignores(unix.SIGQUIT):
				waited = append(waited, m)
			}
		}
		if len(waited) == 1 && !runs {
			all = append(all, Deaf{p.Seen, waited[0].Seen})
		}
	}
	return all
}
