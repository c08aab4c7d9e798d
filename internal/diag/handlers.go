package diag

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Victim is a process that was sent a signal for which it has no handler.
type Victim struct {
	proc.Process
	Signal unix.Signal
}

// Surely reports whether the snapshot proves that it dies of it.
func (v Victim) Surely() bool { return v.Fatal.Has(v.Signal) }

// Unhandled are those that deliveries reached which have no handler for it, by the snapshot
// from before. What does no work of its own is not among them.
func (f *Facts) Unhandled(made []forward.Delivery) (all []Victim) {
	for _, d := range made {
		if !d.Stop || d.Target > forward.ToGroup {
			continue
		}
		for _, p := range Reached(d) {
			if now, ok := f.Snapshot.Process(p.PID); ok && now.ID == p.ID && f.losesWork(now, d.Signal) {
				all = append(all, Victim{now, d.Signal})
			}
		}
	}
	return all
}

// Reached are the processes that a delivery went to, as far as they are known.
func Reached(d forward.Delivery) []proc.Process {
	if len(d.Members) > 0 {
		return d.Members
	}
	return []proc.Process{d.Process}
}

// losesWork reports whether a process that is sent a signal dies in the middle of its work.
func (f *Facts) losesWork(p proc.Process, sig unix.Signal) bool {
	switch {
	case !p.Alive(), p.Handles(sig), p.Ignores(sig), p.Blocked.Has(sig), p.NestedInit, !signals.TerminatesByDefault(sig):
		return false
	case forward.ProgramOf(&p) != forward.Other:
		return false
	}
	up, ok := f.Snapshot.Process(p.PPID)
	if ok && (forward.ProgramOf(&up) == forward.Shell || up.PID == f.Self) && isHelper(p) && p.PID != f.Worker {
		return false
	}
	if slices.ContainsFunc(f.Snapshot.Children(p.PID), func(child *proc.Process) bool { return child.Handles(sig) }) {
		return false // it only waits for that, as time(1) does
	}
	return !f.isBusinessOf(p, sig)
}

// isBusinessOf reports whether a process above handles the signal itself: what it starts
// it can end. /proc may show a ring of parents.
func (f *Facts) isBusinessOf(p proc.Process, sig unix.Signal) bool {
	const deepest = 100
	for range deepest {
		up, ok := f.Snapshot.Process(p.PPID)
		if !ok || p.PID == f.Worker || up.PID == f.Self {
			return false
		}
		if up.Handles(sig) && forward.ProgramOf(&up) != forward.Launcher {
			return true
		}
		p = up
	}
	return false
}

// helpers are what a script waits with, or pipes through.
var helpers = []string{"sleep", "usleep", "tail", "cat", "tee", "inotifywait"}

func isHelper(p proc.Process) bool { return slices.Contains(helpers, p.Comm) }

// BehindWrappers are those below the worker that do the work where no process but shells
// and launchers stands before them.
func (f *Facts) BehindWrappers() (all []proc.ID) {
	for _, p := range f.Snapshot.Nearest(f.Worker, func(p proc.Process) bool { return forward.ProgramOf(&p) == forward.Other }) {
		if p.PID == f.Worker || !isHelper(p) {
			all = append(all, p.ID)
		}
	}
	return all
}

// NoHandler is one line for all that die of the stop signal at once: came is what came to
// drainit.
func NoHandler(all []Victim, came unix.Signal) Warning {
	if len(all) == 0 {
		return Warning{}
	}
	var names []string
	for _, v := range all[:min(3, len(all))] {
		names = append(names, v.String())
	}
	has, dies, it := "has", "it dies at once and loses its work", "it handles"
	if len(all) > 1 {
		has, dies, it = "have", "they die at once and lose their work", "they handle"
	}
	list := strings.Join(names, ", ")
	if more := len(all) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return Warning{all[0].Process, fmt.Sprintf("%s %s no %s handler: %s in flight. Add a handler, or send the signal %s%s",
		list, has, signals.Name(all[0].Signal), dies, it, rewriteTo(all, came))}
}

// rewriteTo is the flag that sends the first a signal for which it has a handler.
func rewriteTo(all []Victim, came unix.Signal) string {
	from := strings.TrimPrefix(signals.Name(came), "SIG")
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGQUIT} {
		if sig != came && all[0].Handles(sig) {
			return ": --rewrite " + from + ":" + strings.TrimPrefix(signals.Name(sig), "SIG")
		}
	}
	return " with --rewrite"
}

// MayHaveNone reports whether a process shows a handler whatever its program has: then only
// its death tells. Where it can't be asked that holds of each. A Node that has children may
// end by the signal that ended them.
func (f *Facts) MayHaveNone(p proc.Process, sig unix.Signal) bool {
	switch {
	case p.Start == 0:
		return true
	case !p.Handles(sig), forward.ProgramOf(&p) != forward.Other:
		return false
	case isGo(p):
		return true
	}
	return isNode(p) && len(f.Snapshot.Children(p.PID)) == 0
}

// isGo knows the Go runtime by its handlers: it has one for nearly every signal, and no
// other program for those that are ignored by default.
func isGo(p proc.Process) bool {
	return p.Handles(unix.SIGURG) && p.Handles(unix.SIGSTKFLT) && p.Handles(unix.SIGSEGV)
}

func isNode(p proc.Process) bool {
	name := p.Exe
	if name == "" {
		name = p.Comm
	}
	return slices.Contains([]string{"node", "nodejs", "MainThread", "bun", "deno"}, name)
}

// DiedAtOnce is for a process that died of the signal which drainit had just sent it.
func DiedAtOnce(p proc.Process, sig unix.Signal) Warning {
	return Warning{p, fmt.Sprintf("%v died of %s at once: it may have no handler of its own, and what it was doing is lost", p, signals.Name(sig))}
}

// PM2 is the PM2 that is the worker, or behind it.
func (f *Facts) PM2() (p proc.Process, ok bool) {
	if w, ok := f.Snapshot.Process(f.Worker); ok && w.Alive() && isPM2(&w) {
		return w, true
	}
	for _, p := range f.Snapshot.Descendants(f.Worker) {
		if isPM2(p) {
			return *p, true
		}
	}
	return p, false
}

func isPM2(p *proc.Process) bool {
	named := strings.HasPrefix(p.Comm, "PM2 v")
	if !named && p.Args == nil || forward.ProgramOf(p) != forward.Other {
		return false
	}
	if named {
		return true
	}
	for i, arg := range p.Args {
		name := strings.TrimSuffix(filepath.Base(arg), ".js")
		if i > 0 && strings.HasPrefix(arg, "-") || i == 0 && isInterpreter(arg) {
			continue
		}
		return slices.Contains([]string{"pm2", "pm2-runtime", "pm2-docker", "pm2-dev"}, name)
	}
	return false
}

// ShortKill is for a PM2 with this environment. A file of its own may set more time, which
// can't be known.
func ShortKill(p proc.Process, env []string) Warning {
	if sets(env, "PM2_KILL_TIMEOUT") {
		return Warning{}
	}
	return Warning{p, "PM2 kills its processes 1.6s after the stop signal: set PM2_KILL_TIMEOUT to the milliseconds that a job takes, or kill_timeout in its ecosystem file"}
}
