package supervisor

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

type process struct {
	proc.Process
	w       *world
	parent  *process // nil: drainit
	below   []*process
	on      map[unix.Signal]reaction
	undying bool          // it is stuck in the kernel
	leads   bool          // a session of its own
	pending []unix.Signal // that came while it was stopped
}

// reaction is what a process does about a signal for which it has a handler. The world is locked.
type reaction func(*process)

// newProcess makes a process that is not in a world yet. Each leads a group and a session of its own, until
// it is put below another.
func newProcess(name string) *process {
	details := proc.Details{Asleep: true, Exe: name, Args: []string{name}}
	p := proc.Process{State: 'S', Comm: name, Details: details}
	return &process{Process: p, on: make(map[unix.Signal]reaction)}
}

// firstPID is above all pids of the kernel's: should one be signalled, none is.
const firstPID = 1<<22 + 1

// put puts a process below its parent, or drainit, and those below it.
func (w *world) put(p *process) {
	p.w = w
	p.PID = firstPID + len(w.ever)
	w.ever = append(w.ever, p)
	p.PGID, p.SID = p.PID, p.PID
	if p.parent != nil {
		p.PGID, p.SID = p.parent.PGID, p.parent.SID
	}
	if p.leads {
		p.SID = p.PID
	}
	p.Start = w.Ticks()
	w.procs = append(w.procs, p)
	for _, child := range p.below {
		child.parent = p
		w.put(child)
	}
}

// putAbove puts PID 1 and drainit's parent into the world, which no snapshot shows.
func (w *world) putAbove(these string) {
	w.above = parseTree(these)
	for i, p := range w.above {
		p.PID = []int{1, os.Getppid()}[i]
		if i > 0 {
			p.parent = w.above[0]
		}
	}
}

func (w *world) start(p *process) { w.locked(func() { w.put(p) }) }

func (p *process) stat() proc.Process {
	s := p.Process
	s.PPID = os.Getpid()
	if p.parent != nil {
		s.PPID = p.parent.PID
	}
	return s
}

// receive is one signal that comes to the process.
func (p *process) receive(sig unix.Signal) {
	switch does := p.on[sig]; {
	case !p.Alive():
	case sig == unix.SIGKILL:
		if !p.undying {
			p.end(unix.WaitStatus(sig))
		}
	case p.Stopped() && sig == unix.SIGCONT:
		p.resume()
		if does != nil {
			does(p)
		}
	case p.Stopped():
		p.pending = append(p.pending, sig)
	case does != nil:
		does(p)
	case p.Ignores(sig):
	case signals.StopsByDefault(sig), sig == unix.SIGSTOP:
		p.stop(sig)
	case !signals.SetOf(unix.SIGCHLD, unix.SIGCONT, unix.SIGURG, unix.SIGWINCH).Has(sig):
		p.end(unix.WaitStatus(sig))
	}
}

func (p *process) stop(by unix.Signal) {
	p.State = 'T'
	p.changed(unix.WaitStatus(by)<<8 | 0x7f) // wait(2)
}

func (p *process) resume() {
	const continued = 0xffff // wait(2)
	p.State = 'S'
	p.changed(continued)
	pending := p.pending
	p.pending = nil
	for _, sig := range pending {
		p.receive(sig)
	}
}

// changed is news for drainit, of a child.
func (p *process) changed(status unix.WaitStatus) {
	if p.parent == nil {
		p.w.changes = append(p.w.changes, reaper.WaitEvent{PID: p.PID, Status: status})
		p.w.queue.Put(unix.SIGCHLD)
	}
}

// exit ends a process by itself, stuck or not.
func (p *process) exit(status int) {
	p.w.locked(func() { p.end(unix.WaitStatus(status << 8)) })
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// end ends a process. Its children come to drainit; a child of drainit's is a zombie
// until it is waited for, another is waited for at once.
func (p *process) end(status unix.WaitStatus) {
	if !p.Alive() {
		return
	}
	p.State = 'Z'
	for _, child := range p.w.procs {
		if child.parent == p && child.Alive() {
			child.parent = nil
		}
	}
	p.changed(status)
	if p.w.watched[p.PID] {
		p.w.died <- p.ID
		p.w.queue.Wake()
	}
	if p.parent != nil {
		p.w.procs = slices.DeleteFunc(p.w.procs, func(other *process) bool { return other == p })
	}
}

func (w *world) endAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitErr = nil
	for _, p := range slices.Clone(w.procs) {
		p.end(0)
	}
}
