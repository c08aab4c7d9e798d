package forward

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Times of a simulated drain, in ticks.
const (
	lookEvery   = 100  // unless somebody dies
	unrest      = 1500 // until then things happen that are not of the stop
	restAfter   = 4000 // the grace is nearly over
	lastSeconds = 300
)

// drain is drainit in a simulation: what it is told, what it does, and what it
// must not do.
type drain struct {
	*simulation
	t      *testing.T
	c      *Cascade
	first  *fake // the worker that was started
	worker *fake // the one that is reported on
	told   map[proc.ID]bool
}

// Whatever the processes below do, and whatever the looks miss of it, the
// cascade keeps its promises.
func TestCascadeOverRandomTrees(t *testing.T) {
	const seeds = 4000
	for seed := range uint64(seeds) {
		simulate(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("by seed %d", seed)
		}
	}
}

// FuzzCascade lets the input choose, a byte for each choice, and then a seed.
func FuzzCascade(f *testing.F) {
	for _, seed := range []string{"", "npm start", "\x00\x40\x80\xc0\xff", "a shell in a shell in a shell"} {
		f.Add([]byte(seed), uint64(len(seed)))
	}
	f.Fuzz(func(t *testing.T, choices []byte, seed uint64) {
		simulate(t, rand.New(&chooser{choices, rand.NewPCG(seed, 1)}))
	})
}

// chooser is a source of chance whose first values are given.
type chooser struct {
	choices []byte
	rest    rand.Source
}

func (c *chooser) Uint64() uint64 {
	if len(c.choices) == 0 {
		return c.rest.Uint64()
	}
	b := c.choices[0]
	c.choices = c.choices[1:]
	return uint64(b) << 56 // rand makes its choices from the highest bits
}

// simulate plays one drain from the start of the worker to the last seconds.
func simulate(t *testing.T, rng *rand.Rand) {
	d := &drain{simulation: newSimulation(rng), t: t, told: make(map[proc.ID]bool)}
	d.first = d.someone(nil)
	d.worker = d.first
	d.grow(d.first, 4)
	for range rng.IntN(4) { // some daemonize
		if p := d.pick(); p != nil && (p != d.first || rng.IntN(4) == 0) {
			d.advance(uint64(rng.IntN(3)))
			d.die(p, 0)
		}
	}
	d.advance(uint64(rng.IntN(300)))
	for range rng.IntN(8) {
		d.in(uint64(rng.IntN(unrest)), d.happening)
	}
	d.begin()
	d.drive(restAfter, false)
	d.wantAllTold()
	d.drive(lastSeconds, true)
	if t.Failed() {
		for _, line := range d.lines {
			t.Log(line)
		}
	}
}

// drive looks below drainit for so many ticks, as its machine does.
func (d *drain) drive(ticks uint64, last bool) {
	end := d.tick + ticks
	for lookAt := d.tick; d.tick < end; {
		if d.reap() || d.tick >= lookAt {
			d.judge(last)
			lookAt = d.tick + lookEvery
		}
		d.advance(1 + uint64(d.rng.IntN(12)))
	}
}

// begin is the first stop signal, or the worker's own exit.
func (d *drain) begin() {
	gone := d.first.ended
	d.reap()
	d.say("look")
	seen := d.look(d.between)
	worker, heads := d.first.ID, []proc.ID{d.first.ID}
	if gone {
		worker, heads = proc.ID{}, nil
		for _, s := range seen {
			if s.PPID == drainitPID {
				heads = append(heads, s.ID)
			}
		}
	}
	d.c = NewCascade(drainitPID, d.sig, seen, worker, heads)
	d.note(seen)
	for _, s := range seen {
		if p := d.procs[s.PID]; p != nil && p.ID == s.ID {
			p.before = s.PPID == drainitPID && !gone && s.ID != worker
		}
	}
	d.tell(d.c.Heads("a head"))
}

// reap waits for the children that are dead.
func (d *drain) reap() (any bool) {
	for pid, p := range d.procs {
		if !p.ended {
			continue
		}
		if d.c != nil {
			d.c.Died(pid, p.of)
		}
		delete(d.procs, pid)
		any = true
	}
	return any
}

// judge is a look and what follows from it.
func (d *drain) judge(last bool) {
	d.say("look")
	seen := d.look(d.between)
	d.c.Look(seen)
	d.note(seen)
	if heir, ok := d.c.Succeed(); ok {
		d.wantHeir(heir)
	}
	tellings := d.c.Judge(last)
	if !last {
		for _, t := range tellings {
			d.wantNotToldByItsParent(t)
		}
	}
	d.tell(tellings)
	for _, p := range seen {
		if last && p.PPID == drainitPID && !d.told[p.ID] {
			d.t.Errorf("%v is not told in the last seconds", p.ID)
		}
	}
}

// note keeps what a look has shown.
func (d *drain) note(seen []proc.Seen) {
	shown := make(map[int]proc.ID)
	for _, s := range seen {
		shown[s.PID] = s.ID
	}
	for _, s := range seen {
		p := d.procs[s.PID]
		if p == nil || p.ID != s.ID {
			continue
		}
		p.seenCatching |= s.Caught
		if p.starter != nil && shown[s.PPID] == p.starter.ID {
			p.seenBelow = true
		}
	}
}

func (d *drain) tell(tellings []Telling) {
	for _, t := range tellings {
		p := d.procs[t.PID]
		switch {
		case d.told[t.ID]:
			d.t.Errorf("%v is told twice: %s", t.ID, t.Rule)
		case p == nil || p.ID != t.ID:
			d.t.Errorf("%v is told and has gone: %s", t.ID, t.Rule)
			continue
		case p.parent != nil:
			d.t.Errorf("%v is told and is not drainit's child: %s", p, t.Rule)
		}
		d.told[t.ID] = true
		d.say("%v is told %s: %s", p, signals.Name(t.Signal), t.Rule)
		d.c.Told(t.ID, t.Signal, d.tick)
		d.deliver(p, nil, t.Signal)
	}
}

// wantHeir checks who is reported on from now on.
func (d *drain) wantHeir(heir proc.Seen) {
	p := d.procs[heir.PID]
	d.say("%v is the heir of %v", p, d.worker)
	top := p
	for top != nil && top != d.first && !top.before {
		top = top.starter
	}
	switch {
	case p == nil || p.ID != heir.ID:
		d.t.Errorf("%v is the heir and has gone", heir.ID)
	case top == nil:
		d.t.Errorf("%v is the heir and was not below the worker", p)
	case top.before:
		d.t.Errorf("%v is the heir and came from %v, which was there before the stop", p, top)
	case p.tidies && (p.seenBelow || d.told[p.starter.ID]):
		d.t.Errorf("%v is the heir and cleans up", p)
	}
	d.worker = p
}

// wantNotToldByItsParent checks that nobody is told whom a relay has told that
// has left in order, both of them in full view.
func (d *drain) wantNotToldByItsParent(t Telling) {
	p := d.procs[t.PID]
	if p == nil || p.from == nil || p.from != p.starter || !d.told[p.starter.ID] {
		return
	}
	up := p.starter
	if up.ended && up.of == 0 && up.seenCatching != 0 && p.seenCatching == signals.SetOf(d.sig, unix.SIGTERM) && p.seenBelow {
		d.t.Errorf("%v was told by %v, and is told again: %s", p, up, t.Rule)
	}
}

// wantAllTold checks, before the last seconds, that everybody has been told who
// cannot have been told by another.
func (d *drain) wantAllTold() {
	for _, pid := range d.alive() {
		if p := d.procs[pid]; p.parent == nil && p.got == 0 && !d.told[p.ID] && !d.excused(p) {
			d.t.Errorf("nobody has told %v: %+v", p, *d.c.known[p.ID])
		}
	}
}

// excused reports whether somebody else may have told a process, or it is not
// its turn.
func (d *drain) excused(p *fake) bool {
	if p.before {
		return !d.worker.ended || d.worker.shell() && d.worker.caughtA
	}
	for q := p; q != nil; q = q.starter {
		switch {
		case q != p && q.got > 0 && (!q.ended || q.caughtA):
			return true // it is handling the stop, or has done
		case q != p && q.before && q.got == 0:
			return true // what was below a daemon is the daemon's business
		case !q.seenBelow && d.resembles(q):
			return true
		}
	}
	return false
}

// resembles reports whether a process whose parent nobody saw may be a clean-up
// of one in its session that caught the signal and has left.
func (d *drain) resembles(p *fake) bool {
	for id := range d.told {
		if m := d.c.known[id]; m.told.caught && !d.c.alive(m) && m.SID == p.sid && id.Start <= p.Start {
			return true
		}
	}
	return false
}

func (p *fake) String() string {
	if p == nil {
		return "drainit"
	}
	return fmt.Sprintf("%s[%d,%d %d %x]", p.name, p.PID, p.Start, p.manner, p.caught)
}
