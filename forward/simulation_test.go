package forward

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// manner is what a process does about the first stop signal that it gets.
type manner uint8

// The manners. Those that pass it on send the signal that they got.
const (
	dies       manner = iota // handles nothing, or nothing that would help
	ignores                  // lives on
	works                    // ends its work and exits
	raises                   // the same, and then dies of the signal
	relays                   // signals its children and exits
	waits                    // signals its children and exits when it has none left
	broadcasts               // signals all that is below it and exits
	cleans                   // starts something that cleans up, and exits
	manners                  // how many there are
)

// nature is how a process of a simulation behaves, and what has come of it.
type nature struct {
	manner manner
	lasts  uint64 // ticks from the signal to the exit
	once   bool   // its handlers are for one signal only
	tidies bool   // it was started to clean up
	of     unix.Signal
	got    int   // signals
	from   *fake // the sender of the first; nil: drainit, or none
	before bool  // it was drainit's child before the stop, and not the worker

	handledFirst bool // it handled the first of them
	// What the snapshots have shown.
	shownBelow    bool // below the one that started it
	shownHandling signals.Set
}

// simulation is a world in which processes behave at random.
type simulation struct {
	*world
	rng    *rand.Rand
	sig    unix.Signal // the stop signal
	events []event     // in the order of their times
	lines  []string    // what has happened
}

type event struct {
	at uint64
	do func()
}

func newSimulation(rng *rand.Rand) *simulation {
	s := &simulation{world: newWorld(60), rng: rng, sig: unix.SIGTERM}
	s.last = 1 + rng.IntN(59)
	s.readable = rng.IntN(3) > 0
	if rng.IntN(3) == 0 {
		s.sig = unix.SIGINT
	}
	return s
}

func (s *simulation) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%d: ", s.tick)+fmt.Sprintf(format, args...))
}

// in lets something happen after so many ticks.
func (s *simulation) in(ticks uint64, do func()) {
	at := s.tick + ticks
	i := slices.IndexFunc(s.events, func(e event) bool { return e.at > at })
	if i < 0 {
		i = len(s.events)
	}
	s.events = slices.Insert(s.events, i, event{at, do})
}

// advance lets time pass.
func (s *simulation) advance(ticks uint64) {
	until := s.tick + ticks
	for len(s.events) > 0 && s.events[0].at <= until {
		e := s.events[0]
		s.events = s.events[1:]
		s.tick = e.at
		e.do()
	}
	s.tick = until
}

// between is what happens while drainit reads /proc: mostly nothing.
func (s *simulation) between() {
	if s.rng.IntN(3) == 0 {
		s.advance(uint64(s.rng.IntN(4)))
	}
}

// startAny starts a process of any kind.
func (s *simulation) startAny(parent *fake) *fake {
	if len(s.procs) > s.maxPID/2 {
		return nil
	}
	word := []string{"sh", "bash", "npm", "app", "app", "app", "relay"}[s.rng.IntN(7)]
	both := signals.SetOf(s.sig, unix.SIGTERM)
	n := nature{manner: manner(s.rng.IntN(int(manners))), lasts: uint64(s.rng.IntN(200)), once: s.rng.IntN(4) == 0}
	mask := []signals.Set{both, both, signals.SetOf(s.sig), signals.SetOf(unix.SIGTERM)}[s.rng.IntN(4)]
	switch {
	case word == "npm":
		n.manner, mask = []manner{waits, relays, raises}[s.rng.IntN(3)], both
	case (word == "sh" || word == "bash") && s.rng.IntN(2) == 0:
		n.manner, mask = dies, []signals.Set{0, signals.SetOf(unix.SIGINT)}[s.rng.IntN(2)] // it has no trap
	case n.manner == dies || n.manner == ignores:
		mask = 0
	}
	p := s.start(word, parent, mask)
	p.nature = n
	if n.manner == ignores && s.rng.IntN(2) == 0 { // the others block it
		p.ignored = both
	}
	s.say("%v is started by %v", p, parent)
	return p
}

// grow starts a family below a process.
func (s *simulation) grow(parent *fake, depth int) {
	for range s.rng.IntN(3) {
		if child := s.startAny(parent); child != nil && depth > 1 {
			s.grow(child, depth-1)
		}
	}
}

// pick returns one of the living, nil where there is none.
func (s *simulation) pick() *fake {
	pids := s.alive()
	if len(pids) == 0 {
		return nil
	}
	return s.procs[pids[s.rng.IntN(len(pids))]]
}

// happening is something that the stop has nothing to do with.
func (s *simulation) happening() {
	p := s.pick()
	if p == nil {
		return
	}
	switch s.rng.IntN(3) {
	case 0:
		s.die(p, 0)
	case 1:
		s.startAny(p)
	case 2: // by one that hardly any snapshot shows
		if mid := s.startAny(p); mid != nil {
			s.startAny(mid)
			s.in(uint64(s.rng.IntN(3)), func() { s.die(mid, 0) })
		}
	}
}

// deliver sends a signal. The second one that comes to a process may kill it.
func (s *simulation) deliver(p, from *fake, sig unix.Signal) {
	if p.ended {
		return
	}
	s.say("%v gets %d from %v", p, sig, from)
	handled := p.handled.Has(sig)
	if p.got++; p.got == 1 {
		p.handledFirst, p.from = handled, from
	}
	switch {
	case !handled && p.manner != ignores:
		s.die(p, sig)
	case handled && p.got == 1:
		if p.once {
			p.handled = 0
		}
		s.react(p, sig)
	}
}

// react is what a handler does.
func (s *simulation) react(p *fake, sig unix.Signal) {
	exit := func() { s.die(p, 0) }
	switch p.manner {
	case dies, ignores:
		return // a shell that waits for its child on INT
	case raises:
		exit = func() { s.die(p, sig) }
	case relays, waits:
		s.signal(p, sig, func(q *fake) bool { return q.parent == p })
	case broadcasts:
		s.signal(p, sig, func(q *fake) bool { return q.below(p) })
	case cleans:
		if tidy := s.startAny(p); tidy != nil {
			tidy.tidies = true
		}
	}
	if p.manner == waits && s.hasChild(p) {
		return
	}
	s.in(p.lasts, exit)
}

// signal passes a signal on.
func (s *simulation) signal(from *fake, sig unix.Signal, to func(*fake) bool) {
	for _, pid := range s.alive() {
		if q := s.procs[pid]; q != nil && to(q) {
			s.deliver(q, from, sig)
		}
	}
}

func (p *fake) below(top *fake) bool {
	for q := p.parent; q != nil; q = q.parent {
		if q == top {
			return true
		}
	}
	return false
}

func (s *simulation) hasChild(p *fake) bool {
	for _, q := range s.procs {
		if q.parent == p {
			return true
		}
	}
	return false
}

// die ends a process by itself or by a signal. A relay that waits for it may
// leave then.
func (s *simulation) die(p *fake, of unix.Signal) {
	if p.ended {
		return
	}
	p.of = of
	s.say("%v dies of %d", p, of)
	s.end(p)
	if up := p.parent; up != nil && !up.ended && up.manner == waits && up.got > 0 && up.handledFirst && !s.hasChild(up) {
		s.in(up.lasts, func() { s.die(up, 0) })
	}
}
