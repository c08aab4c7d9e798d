package forward

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/trees"
)

// drill is a stop played by a script, of steps with semicolons between them:
//
//	sent NAME SIG              it is sent the signal now; ": " and a rule may follow
//	successor NAME             the last snapshot made it the worker
//	NAME starts TREE           as a child of its own
//	NAME loses SIG             its handler has gone
//	NAME runs PROGRAM          by an exec, which takes its handlers
//	NAME exits
//	NAME dies of SIG
//	snapshot, or last call     in the last seconds; all that follows from it stands after it
//
// A tree is in the tests' notation (package trees). In brackets is what a process handles; a * stands for the stop
// signal and TERM. What a name says of a process, its digits aside, is what it is.
type drill struct {
	t         *testing.T
	sig       unix.Signal
	w         *world
	l         *played
	names     map[string]*fake
	sent      []Delivery
	successor string
}

// newDrill makes a machine with a worker, and other children of drainit.
func newDrill(t *testing.T, sig unix.Signal, worker, others string) *drill {
	d := &drill{t: t, sig: sig, w: &world{tick: 1000, procs: make(map[int]*fake), last: drainitPID}, l: newPlayed(), names: make(map[string]*fake)}
	first := d.plant(nil, trees.Parse(worker))
	d.plant(nil, trees.Parse(others))
	d.w.tick += 100
	if d.l.gone = len(first) == 0; !d.l.gone {
		d.l.Started(first[0].PID)
	}
	d.plan(Stop)
	return d
}

// plan takes a snapshot and makes the deliveries that follow from it. The script must
// know of them.
func (d *drill) plan(purpose Purpose) {
	deliveries := d.l.deliveries(Request{Purpose: purpose, Signal: d.sig, Tick: d.w.tick}, d.w.snapshot())
	for _, s := range deliveries {
		d.l.Sent(s, d.w.tick)
	}
	d.sent = append(d.sent, deliveries...)
}

var pidOf = regexp.MustCompile(`\[\d+\]`)

// plant starts the processes of a tree below a parent, and returns its first ones.
func (d *drill) plant(parent *fake, tree []trees.Process) (all []*fake) {
	for _, written := range tree {
		p := d.w.start(written.Name, parent, d.mask(written.Words))
		d.names[written.Name] = p
		all = append(all, p)
		d.plant(p, written.Below)
	}
	return all
}

// mask reads what a process handles.
func (d *drill) mask(words []string) (mask signals.Set) {
	for _, word := range words {
		if word == "*" {
			return signals.SetOf(d.sig, unix.SIGTERM)
		}
		mask |= signals.SetOf(d.signal(word))
	}
	return mask
}

func (d *drill) signal(name string) unix.Signal {
	sig, err := signals.Parse(name)
	if err != nil {
		d.t.Fatal(err)
	}
	return sig
}

// play plays a script to its end.
func (d *drill) play(script string) {
	d.t.Helper()
	for step := range strings.SplitSeq(script, ";") {
		step = strings.TrimSpace(step)
		f := strings.Fields(step)
		switch {
		case f[0] == "sent":
			d.wantSent(step)
			continue
		case f[0] == "successor":
			if d.successor != f[1] {
				d.t.Errorf("%q: the successor is %q", step, d.successor)
			}
			d.successor = ""
			continue
		}
		d.wantNothing(step)
		d.w.tick += 10
		d.happen(step, f)
	}
	d.wantNothing("the end")
}

// happen lets one thing happen, which the ledger may only see or hear of.
func (d *drill) happen(step string, f []string) {
	d.t.Helper()
	p := d.names[f[0]]
	switch {
	case step == "snapshot":
		d.observe(Orphans)
	case step == "ten seconds":
		d.w.tick += 10 * aSecond
	case step == "last call":
		d.observe(LastCall)
	case p == nil || p.ended:
		d.t.Fatalf("%q: there is no such process", step)
	case f[1] == "starts":
		d.plant(p, trees.Parse(strings.Join(f[2:], " ")))
	case f[1] == "loses":
		p.Handled &^= signals.SetOf(d.signal(f[2]))
	case f[1] == "runs":
		p.Exe, p.Comm, p.Args, p.Handled = f[2], f[2], f[2:], 0
	case f[1] == "exits":
		d.end(p, 0)
	case f[1] == "dies":
		d.end(p, d.signal(f[3]))
	default:
		d.t.Fatalf("no such step: %q", step)
	}
}

func (d *drill) end(p *fake, by unix.Signal) {
	d.w.end(p)
	if p.parent == nil {
		d.l.Exited(p.PID, unix.WaitStatus(by))
	}
}

// observe is one snapshot of drainit's and what follows from it.
func (d *drill) observe(purpose Purpose) {
	d.plan(purpose)
	if p := d.l.plan.Successor; p != nil {
		d.successor = d.w.procs[p.PID].name
	}
}

// wantSent takes the next delivery, and compares.
func (d *drill) wantSent(step string) {
	d.t.Helper()
	if len(d.sent) == 0 {
		d.t.Errorf("%q: nothing was", step)
		return
	}
	s := d.sent[0]
	d.sent = d.sent[1:]
	want, rule, _ := strings.Cut(strings.TrimPrefix(step, "sent "), ": ")
	f := strings.Fields(want)
	got := pidOf.ReplaceAllString(s.Rule, "")
	if s.Process.ID != d.names[f[0]].ID || s.Signal != d.signal(f[1]) || !strings.HasPrefix(got, rule) {
		d.t.Errorf("%q: sent %s %s: %s", step, s.Process.Comm, signals.Name(s.Signal), got)
	}
}

// wantNothing checks that the steps so far named all that came of the last snapshot.
func (d *drill) wantNothing(before string) {
	d.t.Helper()
	for _, s := range d.sent {
		d.t.Errorf("before %q: sent %s %s: %s", before, s.Process.Comm, signals.Name(s.Signal), s.Rule)
	}
	if d.successor != "" {
		d.t.Errorf("before %q: the successor is %s", before, d.successor)
	}
	d.sent, d.successor = nil, ""
}

// drainitPID is drainit's in the made-up machines of these tests.
const drainitPID = 1

// world is a made-up machine: the processes below drainit. Its clock counts ticks, as start times do.
type world struct {
	tick  uint64
	procs map[int]*fake // the living, by pid
	last  int           // the pid that was given out last
}

// fake is a process of a world. Its name says which program it runs: "sh", "npm", any other.
type fake struct {
	proc.Process
	name   string
	parent *fake // nil: drainit
	ended  bool
}

// start adds a process. A parent of nil is drainit, which gives each child a session of its own.
func (w *world) start(name string, parent *fake, handled signals.Set) *fake {
	w.last++
	p := &fake{name: name, parent: parent}
	p.ID, p.SID, p.Handled, p.State, p.Comm = proc.ID{PID: w.last, Start: w.tick}, w.last, handled, 'S', name
	if parent != nil {
		p.SID = parent.SID
	}
	p.PGID = p.SID
	p.Exe = strings.TrimRight(name, "0123456789")
	if p.launcher() {
		p.Exe, p.Comm = "node", p.Exe+" start"
	}
	p.Args = strings.Fields(p.Comm)
	w.procs[w.last] = p
	return p
}

func (p *fake) launcher() bool { return p.Exe == "npm" || p.Exe == "npx" || p.Exe == "pnpm" }

// end ends a process, whose children come to drainit.
func (w *world) end(p *fake) {
	p.ended = true
	delete(w.procs, p.PID)
	for _, child := range w.procs {
		if child.parent == p {
			child.parent = nil
		}
	}
}

// snapshot is one of /proc.
func (w *world) snapshot() *proc.Snapshot {
	var all []proc.Process
	for _, p := range w.procs {
		shown := p.Process
		if shown.PPID = drainitPID; p.parent != nil {
			shown.PPID = p.parent.PID
		}
		all = append(all, shown)
	}
	return proc.New(all)
}
