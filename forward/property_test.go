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
	snapshotEvery = 100  // unless a process dies
	unrest        = 1500 // until then things happen that are not of the stop
	lastCallAfter = 4000 // the grace period is nearly over
	lastSeconds   = 300
)

// drain is drainit in a simulation: what it sees, what it does, and what it must not do.
type drain struct {
	*simulation
	t      *testing.T
	l      *Ledger
	first  *fake // the worker that was started
	gone   bool  // it had gone before the stop
	worker *fake // the one whose exit status counts
	sent   map[proc.ID]bool
	shown  map[proc.ID]*fake // by a snapshot
}

// Whatever the processes below do, and whatever the snapshots miss of it, the ledger
// keeps its promises.
func TestLedgerOverRandomTrees(t *testing.T) {
	const seeds = 4000
	for seed := range uint64(seeds) {
		simulate(t, rand.New(rand.NewPCG(seed, 0)))
		if t.Failed() {
			t.Fatalf("by seed %d", seed)
		}
	}
}

// FuzzLedger lets the input choose, a byte for each choice, and then a seed.
func FuzzLedger(f *testing.F) {
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
	d := &drain{simulation: newSimulation(rng), t: t, l: NewLedger(drainitPID), sent: make(map[proc.ID]bool),
		shown: make(map[proc.ID]*fake)}
	d.first = d.startAny(nil)
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
	d.drive(lastCallAfter, Orphans)
	d.wantAllSignalled()
	d.drive(lastSeconds, LastCall)
	if t.Failed() {
		for _, line := range d.lines {
			t.Log(line)
		}
	}
}

// drive takes snapshots for so many ticks, as drainit's machine does.
func (d *drain) drive(ticks uint64, purpose Purpose) {
	end := d.tick + ticks
	for next := d.tick; d.tick < end; {
		if d.reap() || d.tick >= next {
			d.observe(purpose)
			next = d.tick + snapshotEvery
		}
		d.advance(1 + uint64(d.rng.IntN(12)))
	}
}

// begin is the first stop signal, or the worker's own exit.
func (d *drain) begin() {
	d.gone = d.first.ended
	d.reap()
	d.say("snapshot")
	shown := d.snapshot(d.between)
	deliveries := d.l.Plan(d.request(Stop), shown)
	d.note(shown)
	for _, s := range shown.Descendants(drainitPID) {
		if p := d.procs[s.PID]; p != nil && p.ID == s.ID {
			p.before = s.PPID == drainitPID && !d.gone && s.ID != d.first.ID
		}
	}
	d.send(deliveries, shown)
}

func (d *drain) request(purpose Purpose) Request {
	return Request{Purpose: purpose, Signal: d.sig, Worker: Worker{PID: d.first.PID, Gone: d.gone}, Tick: d.tick}
}

// reap waits for the children that are dead.
func (d *drain) reap() (any bool) {
	for pid, p := range d.procs {
		if !p.ended {
			continue
		}
		d.l.Exited(pid, unix.WaitStatus(p.of))
		delete(d.procs, pid)
		any = true
	}
	return any
}

// observe is a snapshot and what follows from it.
func (d *drain) observe(purpose Purpose) {
	d.say("snapshot")
	shown := d.snapshot(d.between)
	deliveries := d.l.Plan(d.request(purpose), shown)
	d.note(shown)
	if p, ok := d.l.Successor(); ok {
		d.wantSuccessor(p.Process)
	}
	if purpose != LastCall {
		for _, s := range deliveries {
			d.wantNotSignalledByItsParent(s)
		}
	}
	d.send(deliveries, shown)
	for _, p := range shown.Children(drainitPID) {
		if m := d.l.records[p.ID]; purpose == LastCall && !d.sent[p.ID] && d.l.actsUpon(m) {
			d.t.Errorf("%v is not signalled by the last call", p.ID)
		}
	}
}

// note keeps what a snapshot has shown.
func (d *drain) note(shown *proc.Snapshot) {
	for _, s := range shown.Descendants(drainitPID) {
		p := d.procs[s.PID]
		if p == nil || p.ID != s.ID {
			continue
		}
		d.shown[p.ID] = p
		p.shownHandling |= s.Handled
		if up, ok := shown.Process(s.PPID); ok && up.Alive() && p.starter != nil && up.ID == p.starter.ID {
			p.shownBelow = true
		}
	}
}

func (d *drain) send(deliveries []Delivery, shown *proc.Snapshot) {
	for _, s := range deliveries {
		id := s.Process.ID
		p := d.procs[id.PID]
		switch {
		case d.sent[id]:
			d.t.Errorf("%v is signalled twice: %s", id, s.Rule)
		case s.Child && id.Start == 0 && p != nil && p.ended:
			continue // the worker, which ended before the snapshot and has its pid until it is waited for
		case p == nil || p.ID != id:
			if s.Child { // of another's child the pidfd tells
				d.t.Errorf("%v is signalled and has gone: %s", id, s.Rule)
			}
			continue
		case p.parent != nil && !d.mayReach(p, s.Rule, shown):
			d.t.Errorf("%v is signalled and is the business of one that handles the stop: %s", p, s.Rule)
		}
		d.sent[id] = true
		d.say("%v is sent %s: %s", p, signals.Name(s.Signal), s.Rule)
		d.l.Sent(s, d.tick)
		d.deliver(p, nil, s.Signal)
	}
}

// mayReach reports whether drainit may signal a process that is not its child: the next
// above it that was signalled does not handle it, and so signals none. In the last call
// it may if none above it was. Above it is what the snapshot shows there alive; that may
// have left since.
func (d *drain) mayReach(p *fake, rule string, shown *proc.Snapshot) bool {
	for up := d.above(p, shown); up != nil; up = d.above(up, shown) {
		if up.got > 0 {
			waits := up.manner == dies || up.manner == ignores || up.shell() && !up.handled.Has(unix.SIGTERM) // on INT, say
			return !up.handledFirst || waits
		}
	}
	return rule == lastCall
}

// above returns the living parent that a snapshot shows of a process, nil where it is
// drainit, to which the children of the dead come.
func (d *drain) above(p *fake, shown *proc.Snapshot) *fake {
	s, _ := shown.Process(p.PID)
	if up, ok := shown.Process(s.PPID); ok && up.Alive() {
		return d.shown[up.ID]
	}
	return nil
}

// wantSuccessor checks whose exit status counts from now on.
func (d *drain) wantSuccessor(successor proc.Process) {
	p := d.shown[successor.ID]
	d.say("%v is the successor of %v", p, d.worker)
	top := p
	for top != nil && top != d.first && !top.before {
		top = top.starter
	}
	switch {
	case p == nil || p.ended && !d.sent[p.ID] && d.procs[p.PID] != p: // it was waited for
		d.t.Errorf("%v is the successor and has gone", successor.ID)
	case top == nil:
		d.t.Errorf("%v is the successor and was not below the worker", p)
	case top.before:
		d.t.Errorf("%v is the successor and came from %v, which was there before the stop", p, top)
	case p.tidies && (p.shownBelow || d.sent[p.starter.ID]):
		d.t.Errorf("%v is the successor and cleans up", p)
	}
	d.worker = p
}

// wantNotSignalledByItsParent checks that none is signalled that a relay has signalled
// which has left in order, both of them in full view.
func (d *drain) wantNotSignalledByItsParent(s Delivery) {
	p := d.procs[s.Process.PID]
	if p == nil || p.from == nil || p.from != p.starter || !d.sent[p.starter.ID] {
		return
	}
	up := p.starter
	if up.ended && up.of == 0 && up.shownHandling != 0 && p.shownHandling == signals.SetOf(d.sig, unix.SIGTERM) && p.shownBelow {
		d.t.Errorf("%v was signalled by %v, and is signalled again: %s", p, up, s.Rule)
	}
}

// wantAllSignalled checks, before the last seconds, that each was signalled that no other
// can have signalled.
func (d *drain) wantAllSignalled() {
	for _, pid := range d.alive() {
		if p := d.procs[pid]; p.parent == nil && p.got == 0 && !d.sent[p.ID] && !d.excused(p) {
			d.t.Errorf("%v was not signalled: %+v", p, *d.l.records[p.ID])
		}
	}
}

// excused reports whether another may have signalled a process, or it is not its turn.
func (d *drain) excused(p *fake) bool {
	if p.before {
		return !d.worker.ended || d.worker.shell() && d.worker.handledFirst
	}
	up := p.starter
	switch both := signals.SetOf(d.sig, unix.SIGTERM); {
	case p.shownHandling&both == 0 && p.manner != ignores:
		return d.isOthers(p) // it would have died of it
	case up == nil:
		return false
	}
	// Its parent must have died of what drainit sent it, and never have had a handler.
	return !p.shownBelow || !d.sent[up.ID] || !up.ended || up.of == 0 || up.shownHandling&signals.SetOf(up.of) != 0 || d.l.records[p.ID].fate != open
}

// isOthers reports whether a process is the business of one above it that is handling the stop,
// or has done so, or whose turn has not come.
func (d *drain) isOthers(p *fake) bool {
	for q := p; q != nil; q = q.starter {
		switch {
		case q != p && q.got > 0 && (!q.ended || q.handledFirst):
			return true
		case q != p && q.before && q.got == 0:
			return true
		case !q.shownBelow && d.resembles(q):
			return true
		}
	}
	return false
}

// resembles reports whether a process whose parent no snapshot showed may be a clean-up of
// one in its session that handled the signal.
func (d *drain) resembles(p *fake) bool {
	for id := range d.sent {
		if m := d.l.records[id]; m.sent.handled && m.SID == p.sid && id.Start <= p.Start {
			return true
		}
	}
	return false
}

func (p *fake) String() string {
	if p == nil {
		return "drainit"
	}
	return fmt.Sprintf("%s[%d,%d %d %x]", p.name, p.PID, p.Start, p.manner, p.handled)
}
