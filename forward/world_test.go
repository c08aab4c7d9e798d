package forward

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// drainitPID is drainit's in the made-up machines of these tests.
const drainitPID = 1

// world is a made-up machine: what lives below drainit, and what a snapshot shows of
// it. Its clock counts ticks, as start times do.
type world struct {
	tick   uint64
	last   int           // the pid that was given out last
	maxPID int           // after which they are given out anew
	procs  map[int]*fake // the living, and the dead that drainit has not waited for

	readable bool // what a process sleeps in can be read, so that some deaths are certain
}

// fake is a process of a world.
type fake struct {
	proc.ID
	name    string
	parent  *fake // nil: drainit
	starter *fake // the one that started it, whatever became of that
	sid     int
	handled signals.Set
	ignored signals.Set
	ended   bool
	nature
}

func newWorld(maxPID int) *world {
	return &world{tick: 1000, last: drainitPID, maxPID: maxPID, procs: make(map[int]*fake)}
}

// start adds a process. A parent of nil is drainit, which gives each child a
// session of its own.
func (w *world) start(name string, parent *fake, handled signals.Set) *fake {
	pid := w.last
	for taken := true; taken; _, taken = w.procs[pid] {
		if pid++; pid > w.maxPID {
			pid = drainitPID + 1
		}
	}
	w.last = pid
	p := &fake{ID: proc.ID{PID: pid, Start: w.tick}, name: name, parent: parent, starter: parent, sid: pid, handled: handled}
	if parent != nil {
		p.sid = parent.sid
	}
	w.procs[pid] = p
	return p
}

// end ends a process, whose children come to drainit. A child of drainit keeps its pid
// until it is waited for.
func (w *world) end(p *fake) {
	p.ended = true
	for _, child := range w.procs {
		if child.parent == p {
			child.parent = nil
		}
	}
	if p.parent != nil {
		delete(w.procs, p.PID)
	}
}

// alive are the pids of the living, in their order.
func (w *world) alive() []int {
	var pids []int
	for pid, p := range w.procs {
		if !p.ended {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// snapshot is one of /proc, which is read one file after the other. Between two of them
// anything may happen, which is what the argument does. A process that ends while it is
// read is dead in the snapshot; what is below it can still be reached.
func (w *world) snapshot(between func()) *proc.Snapshot {
	var all []proc.Process
	for _, pid := range w.alive() {
		if p := w.procs[pid]; p != nil && !p.ended {
			all = append(all, p.stat())
		}
		between()
	}
	stats := proc.New(all)
	closely := stats.All()
	for _, s := range closely {
		between()
		p := w.procs[s.PID]
		if p == nil || p.ended {
			s.State = 'X'
			continue
		}
		s.Handled, s.Ignored = p.handled, p.ignored
		if s.PPID == drainitPID || len(stats.Children(s.PID)) > 0 {
			s.Exe, s.Args = p.program(), strings.Fields(s.Comm)
			w.showFate(p, s)
		}
	}
	return proc.New(copies(closely))
}

// showFate shows what a close look tells of a process that does not handle a signal.
func (w *world) showFate(p *fake, s *proc.Process) {
	switch {
	case p.manner == ignores && p.ignored == 0 && p.got > 0: // it blocks it
		s.Pending = signals.SetOf(unix.SIGTERM, unix.SIGINT)
	}
}

// stat is what /proc/PID/stat shows.
func (p *fake) stat() proc.Process {
	ppid := drainitPID
	if p.parent != nil {
		ppid = p.parent.PID
	}
	return proc.Process{ID: p.ID, PPID: ppid, SID: p.sid, State: 'S', Comm: p.comm()}
}

// word is the name of a process without the digits that tell it from others.
func (p *fake) word() string { return strings.TrimRight(p.name, "0123456789") }

func (p *fake) launcher() bool {
	return p.word() == "npm" || p.word() == "npx" || p.word() == "pnpm" || p.word() == "yarn"
}

func (p *fake) shell() bool { return program.Of(&proc.Process{Exe: p.word()}) == program.Shell }

// program is what runs a process, for the kinds that matter here.
func (p *fake) program() string {
	if p.launcher() {
		return "node"
	}
	return p.word()
}

// comm is the name a process bears: a launcher's is the command it was given.
func (p *fake) comm() string {
	if p.launcher() {
		return p.word() + " start"
	}
	return p.name
}
