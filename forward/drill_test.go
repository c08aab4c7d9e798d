package forward

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/test/trees"
)

// drill is a stop played by a script, of steps with semicolons between them. It begins with the stop signal,
// TERM by --forward auto unless the first step is "stop by SIG MODE". What happens takes a tenth of a second.
//
//	NAME starts TREE           as a child of its own
//	NAME loses SIG             its handler has gone
//	NAME runs PROGRAM          by an exec, which takes its handlers
//	NAME now WORD              as in the brackets of a tree
//	NAME exits
//	NAME dies of SIG
//	NAME vanishes              drainit has not waited for it; "exits" or "dies" may follow
//	half a second, or ten seconds
//	snapshot, last call, or final call; " at TICKS" since the stop may follow
//
// After a snapshot or a call stands what has followed from it. Each signal and each successor must be there.
//
//	sent NAME SIG              ": " and how the rule begins may follow
//	successor NAME             it is the worker now
//	lost NAME SIG              it had gone when the signal came
//	finally NAME               none is left, and this one is the worker
//	why NAME: RULE             it is not signalled
//	told NAMES: RULE / ...     these lines are written; "told" for none
//	next in TICKS              the next snapshot, if nothing happens before
//
// A tree is in the tests' notation (package trees). What a name says of a process, its digits aside, is what
// it is. In brackets is what it handles (TERM), ignores (-TERM), reads (<NAME of the writer), its command
// line (=sleep_5), and what else is true of it (words). Behind a | are children of drainit that were there
// before the stop. The worker has
// exited if there is none before it, or has "daemonized".
type drill struct {
	t         *testing.T
	request   Request
	w         *world
	l         *played
	sent      []Delivery
	got       map[int]unix.Signal // what each was sent, by pid
	successor string
}

// words are what may be true of a process, beside the signals that it handles.
var words = map[string]func(p *fake){
	// What it does about the stop signal:
	"*":       func(p *fake) { p.Handled |= p.stop },
	"ignores": func(p *fake) { p.Handled, p.Ignored = 0, p.Ignored|p.stop },
	"blocks":  func(p *fake) { p.blocks(childWait) },
	"polls":   func(p *fake) { p.blocks(pause) }, // it looks for the pending one now and then
	"init":    func(p *fake) { p.Handled, p.NestedInit = 0, true },
	"plain":   func(p *fake) { p.Handled, p.Ignored, p.Blocked = 0, 0, 0 },
	"unread":  func(p *fake) { p.Handled = ^jobs }, // its masks can't be read
	"dying":   func(p *fake) { p.Pending = signals.SetOf(unix.SIGKILL) },
	"golang":  func(p *fake) { p.Handled = 0xfffffffd7fc1feff }, // as a program in Go
	// Where it is:
	"leads":    func(p *fake) { p.PGID = p.PID }, // a process group
	"session":  func(p *fake) { p.PGID, p.SID = p.PID, p.PID },
	"marked":   func(p *fake) { p.Ignored |= marks }, // in a shell's background
	"back":     func(p *fake) { p.Ignored, p.Input = marks, proc.NullInput },
	"null":     func(p *fake) { p.Input = proc.NullInput },
	"unknown":  func(p *fake) { p.Input = proc.UnknownInput },
	"fore":     func(p *fake) { p.Input = proc.ParentsInput },
	"pipe":     func(p *fake) { p.Reads = proc.File{Inode: uint64(p.PID)} },
	"socket":   func(p *fake) { p.Reads = proc.File{Inode: uint64(p.PID), Socket: true} },
	"hidden":   func(p *fake) { p.hidden = true },
	"shown":    func(p *fake) { p.hidden = false },
	"nameless": func(p *fake) { p.Exe, p.Args = "", nil },               // it was not read in time
	"command":  func(p *fake) { p.Args = []string{p.Exe, "-c", "app"} }, // a shell's, without a trap
	"newer":    func(p *fake) { p.Start += 100 },                        // it came in the tick of the stop
	// What it sleeps in, and for how long:
	"took":      func(p *fake) { p.Pending = 0 }, // the signal that it blocks
	"naps":      func(p *fake) { p.Call = pause },
	"waits":     func(p *fake) { p.Call = childWait },
	"called":    func(p *fake) { p.Call = proc.Call{Sleeps: true, Number: -1} }, // which call is not shown
	"elsewhere": func(p *fake) { p.Call.Stack++ },                               // for another
	"running":   func(p *fake) { p.Call = proc.Call{} },
	"busy":      func(p *fake) { p.Asleep, p.Untouched, p.Evidence, p.Switches = false, false, nil, 0 },
	"rests":     func(p *fake) { p.Asleep = true },
	"asleep":    func(p *fake) { p.hasRun(7) },
	"idle":      func(p *fake) { p.hasRun(7); p.Untouched = true }, // since before the stop
	"woken":     func(p *fake) { p.hasRun(8); p.Untouched = false },
	// Its state:
	"D": func(p *fake) { p.State, p.Call = 'D', proc.Call{} },
	"R": func(p *fake) { p.State, p.Call = 'R', proc.Call{} },
	"T": func(p *fake) { p.State, p.Call = 'T', proc.Call{} },
	"t": func(p *fake) { p.State, p.Call = 't', proc.Call{} },
	"X": func(p *fake) { p.State = 'X' },
}

// These are what a process sleeps in, what a shell has its background ignore, and what a process of which no
// mask is known does not handle.
var (
	childWait = proc.Call{Sleeps: true, Number: unix.SYS_WAIT4, Stack: 7}
	pause     = proc.Call{Sleeps: true, Number: unix.SYS_CLOCK_NANOSLEEP, Stack: 7}
	marks     = signals.SetOf(unix.SIGINT, unix.SIGQUIT)
	jobs      = signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
)

func (p *fake) blocks(in proc.Call) { p.Blocked, p.Pending, p.Call = p.stop, p.stop, in }

func (p *fake) hasRun(switches uint64) {
	p.Evidence, p.Switches = []proc.Thread{{TID: p.PID, Switches: switches}}, switches
}

// newDrill makes a machine, and starts the stop of its worker.
func newDrill(t *testing.T, tree string, sig unix.Signal, mode Mode) *drill {
	w := &world{tick: 1000, begun: 1100, last: drainitPID}
	w.procs, w.names = make(map[int]*fake), make(map[string]*fake)
	d := &drill{t: t, request: Request{Signal: sig, Mode: mode}, w: w, l: newPlayed()}
	d.got = make(map[int]unix.Signal)
	worker, others, _ := strings.Cut(tree, "|")
	worker, isDaemon := strings.CutPrefix(worker, "daemonized")
	first := d.plant(nil, trees.Parse(worker))
	d.plant(nil, trees.Parse(others))
	w.tick = w.begun
	if d.l.gone, d.l.daemonizes = first == nil, isDaemon; first != nil {
		d.l.Started(first[0].PID)
	}
	d.observe(Stop)
	return d
}

// play plays a stop to its end.
func play(t *testing.T, tree, script string) {
	t.Helper()
	sig, mode := unix.SIGTERM, ModeAuto
	steps := strings.Split(script, ";")
	if how, found := strings.CutPrefix(strings.TrimSpace(steps[0]), "stop by "); found {
		name, forward, _ := strings.Cut(how, " ")
		sig, steps = signal(t, name), steps[1:]
		if mode, found = modesOf[forward]; !found {
			t.Fatalf("no such mode: %q", how)
		}
	}
	d := newDrill(t, tree, sig, mode)
	for _, step := range steps {
		step = strings.Join(strings.Fields(step), " ")
		if about, is, _ := strings.Cut(step, " "); d.expects(about, is, step) {
			continue
		}
		d.wantNothing(step)
		d.w.tick += 10
		d.happen(step)
	}
	d.wantNothing("the end")
}

// expects compares, if a step is of what the last snapshot has led to.
func (d *drill) expects(about, what, step string) bool {
	d.t.Helper()
	got := what
	switch about {
	default:
		return false
	case "sent", "lost":
		d.wantSent(step, about == "sent", what)
	case "finally":
		got = ""
		if p := d.l.PromoteSuccessor(true); p != nil {
			got = p.Comm
		}
	case "told":
		got = d.told()
	case "successor":
		got, d.successor = d.successor, ""
	case "next":
		got = fmt.Sprint("in ", d.l.plan.Again)
	case "why":
		name, rule, _ := strings.Cut(what, ": ")
		m := d.l.living[d.named(step, name).PID]
		if why := pidOf.ReplaceAllString(m.why.String(), ""); m.sent != nil || why != rule {
			got = name + ": " + why
		}
	}
	if got != what {
		d.t.Errorf("%q: it is %q", step, got)
	}
	return true
}

// named is the process of a name.
func (d *drill) named(step, name string) *fake {
	d.t.Helper()
	p := d.w.names[name]
	if p == nil {
		d.t.Fatalf("%q: there is no such process", step)
	}
	return p
}

// plant starts the processes of a tree below a parent, and returns its first ones.
func (d *drill) plant(parent *fake, tree []trees.Process) (all []*fake) {
	for _, written := range tree {
		p := d.w.start(written.Name, parent)
		p.stop = signals.SetOf(d.request.Signal, unix.SIGTERM)
		for _, word := range written.Words {
			d.is(p, word)
		}
		all = append(all, p)
		d.plant(p, written.Below)
	}
	return all
}

// is makes a word true of a process.
func (d *drill) is(p *fake, word string) {
	d.t.Helper()
	writer, reads := strings.CutPrefix(word, "<")
	args, hasArgs := strings.CutPrefix(word, "=")
	ignored, ignores := strings.CutPrefix(word, "-")
	switch become := words[word]; {
	case become != nil:
		become(p)
	case hasArgs:
		p.Args = strings.Split(args, "_")
	case reads:
		p.writers = append(p.writers, writer)
	case ignores:
		p.Ignored |= signals.SetOf(signal(d.t, ignored))
	default:
		p.Handled |= signals.SetOf(signal(d.t, word))
	}
}

func signal(t *testing.T, name string) unix.Signal {
	t.Helper()
	sig, err := signals.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

var modesOf = map[string]Mode{
	"": ModeAuto, "auto": ModeAuto, "handlers": ModeHandlers,
	"group": ModeGroup, "worker": ModeWorker, "none": ModeNone}

var purposesOf = map[string]Purpose{"snapshot": Orphans, "last call": LastCall, "final call": FinalCall}

// happen lets one thing happen, which the history may only see or hear of.
func (d *drill) happen(step string) {
	d.t.Helper()
	what, at, exact := strings.Cut(step, " at ")
	if purpose, found := purposesOf[what]; found {
		if exact {
			after, err := strconv.ParseUint(at, 10, 64)
			if d.w.tick = d.w.begun + after; err != nil || d.w.tick < d.request.Tick {
				d.t.Fatalf("%q: %v, or there was a later one", step, err)
			}
		}
		d.observe(purpose)
		return
	}
	f := strings.Fields(step)
	switch p := d.w.names[f[0]]; {
	case step == "half a second":
		d.w.tick += aSecond / 2
	case step == "ten seconds":
		d.w.tick += 10 * aSecond
	case p == nil, p.told, p.ended && f[1] != "exits" && f[1] != "dies":
		d.t.Fatalf("%q: there is no such process", step)
	case f[1] == "starts":
		d.plant(p, trees.Parse(strings.Join(f[2:], " ")))
	case f[1] == "loses":
		p.Handled &^= signals.SetOf(signal(d.t, f[2]))
	case f[1] == "runs":
		p.Exe, p.Comm, p.Args, p.Handled = f[2], f[2], f[2:], 0
	case f[1] == "now":
		d.is(p, f[2])
	case f[1] == "vanishes":
		d.w.end(p)
	case f[1] == "exits":
		d.end(p, 0)
	case f[1] == "dies":
		d.end(p, signal(d.t, f[3]))
	default:
		d.t.Fatalf("no such step: %q", step)
	}
}

func (d *drill) end(p *fake, by unix.Signal) {
	d.w.end(p)
	if p.told = true; p.parent == nil {
		d.l.Exited(p.PID, unix.WaitStatus(by))
	}
}

// hasGot reports whether the worker is known to have got a signal, and no other.
func (d *drill) hasGot(sig unix.Signal) bool {
	_, ok := d.l.sentTo(d.l.pid, sig)
	return ok && len(d.l.got) == 1
}

// observe is one snapshot of drainit's, with the deliveries that follow from it, and the successor.
func (d *drill) observe(purpose Purpose) {
	d.request.Purpose, d.request.Tick, d.request.EndAt = purpose, d.w.tick, d.w.begun+3500
	d.sent = d.l.deliveries(d.request, d.w.snapshot())
	if p := d.l.plan.Successor; p != nil {
		d.successor = d.w.procs[p.PID].name
		if d.l.gone != (p.Exit != nil) {
			d.t.Errorf("the successor %s has gone: %v, by its exit %v", d.successor, d.l.gone, p.Exit)
		}
		if sig, was := d.got[p.PID]; was && !d.hasGot(sig) {
			d.t.Errorf("the successor %s was sent %v, not %v", d.successor, sig, d.l.got)
		}
	}
}

var pidOf = regexp.MustCompile(`\[\d+\]`)

// told are the lines about those that were not signalled.
func (d *drill) told() string {
	var lines []string
	for _, w := range d.l.plan.Unsignalled {
		var names []string
		for _, p := range w.Processes {
			names = append(names, d.w.procs[p.PID].name)
		}
		line := strings.Join(names, " ") + ": " + pidOf.ReplaceAllString(w.Rule, "")
		if w.Undecided {
			line += " (undecided)"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " / ")
}

// wantSent takes the next delivery, compares, and makes it, if it reaches the process.
func (d *drill) wantSent(step string, reaches bool, want string) {
	d.t.Helper()
	if len(d.sent) == 0 {
		d.t.Errorf("%q: nothing was", step)
		return
	}
	s := d.sent[0]
	d.sent = d.sent[1:]
	want, rule, _ := strings.Cut(want, ": ")
	name, sig, _ := strings.Cut(want, " ")
	got, isIt := pidOf.ReplaceAllString(s.Rule, ""), s.Process.PID == d.named(step, name).PID
	if !isIt || s.Signal != signal(d.t, sig) || !strings.HasPrefix(got, rule) {
		d.t.Errorf("%q: sent %s %s: %s", step, s.Process.Comm, signals.Name(s.Signal), got)
	}
	if reaches {
		d.l.Sent(s, d.w.tick)
		for _, p := range s.Reached() {
			d.got[p.PID] = s.Signal
		}
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
	tick, begun uint64           // now, and at the stop
	procs       map[int]*fake    // the living, by pid
	names       map[string]*fake // all that were there
	last        int              // the pid that was given out last
}

// fake is a process of a world. Its name says which program it runs: "sh", "npm", any other.
type fake struct {
	proc.Process
	name        string
	stop        signals.Set
	parent      *fake    // nil: drainit
	writers     []string // of the pipe that it reads
	hidden      bool     // no snapshot shows it
	ended, told bool     // and drainit has heard how
}

// start adds a process. A parent of nil is drainit, which gives each child a session of its own.
func (w *world) start(name string, parent *fake) *fake {
	w.last++
	p := &fake{name: name, parent: parent}
	p.ID, p.SID, p.State, p.Asleep, p.Comm = proc.ID{PID: w.last, Start: w.tick}, w.last, 'S', true, name
	if parent != nil {
		p.SID = parent.SID
	}
	p.PGID = p.SID
	p.Exe = strings.TrimRight(name, "0123456789")
	if p.launcher() {
		p.Exe, p.Comm = "node", p.Exe+" start"
	}
	p.Args = strings.Fields(p.Comm)
	looksKnown(&p.Process)
	w.procs[w.last], w.names[name] = p, p
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

// snapshot is one of /proc. The first comes before the signal.
func (w *world) snapshot() *proc.Snapshot {
	var all []proc.Process
	for _, p := range w.procs {
		shown := p.Process
		if w.tick == w.begun {
			shown.Untouched, shown.Pending = false, 0
		}
		if shown.PPID = drainitPID; p.parent != nil {
			shown.PPID = p.parent.PID
		}
		if len(p.writers) > 0 {
			shown.Reads = proc.File{Inode: uint64(p.PID)}
		}
		if !p.hidden {
			all = append(all, shown)
		}
	}
	s := proc.New(all)
	for _, p := range w.procs {
		for _, name := range p.writers {
			if writer := w.names[name]; writer == nil { // it can't be read which process it is
				s.AddWriter(proc.File{Inode: uint64(p.PID)}, w.last+1)
			} else if !writer.ended {
				s.AddWriter(proc.File{Inode: uint64(p.PID)}, writer.PID)
			}
		}
	}
	return s
}
