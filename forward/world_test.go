package forward

import (
	"strings"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

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
