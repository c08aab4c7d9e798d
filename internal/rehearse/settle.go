package rehearse

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/program"
)

// changeFor is how long a start may take to settle, once its worker is ready.
const changeFor = 15 * time.Second

// settle waits until the worker is ready, if its settings say what shows that, and until the processes and
// their handlers have not changed for a second, none is loading, and no launcher or shell lacks its first
// child. If they change for longer than changeFor, it stops waiting and sets unsettled. It also returns if
// the worker has ended or its stop has begun.
func (r *rehearsal) settle() error {
	const readyWithin = 5 * time.Minute
	last, runs := "", make(streaks)
	began, ready, calm := time.Now(), time.Now(), time.Now()
	for ; r.going(); r.turn() {
		all, _ := r.read.Tree(r.drainit, nil, time.Second)
		now, below := time.Now(), all.Descendants(r.drainit)
		these, loads := stateOf(below), runs.add(below)
		starts := r.phase() == machine.Starting
		if starts {
			ready = now
		}
		if starts || these != last || loads || isChildless(all, below) {
			calm, last = now, these
		}
		r.unsettled = now.Sub(ready) >= changeFor
		switch {
		case starts && now.Sub(began) >= readyWithin:
			return fmt.Errorf("the worker was not ready after %v", readyWithin)
		case now.Sub(calm) >= time.Second:
			r.unsettled = false
			return nil
		case r.unsettled:
			return nil
		}
	}
	return nil
}

// stateOf returns what must not change while settle waits: which processes there are, and how each treats
// signals. It leaves out helpers, since a script starts a sleep(1) all the time.
func stateOf(all []*proc.Process) (state string) {
	for _, p := range all {
		if !diag.IsHelper(p) {
			state += fmt.Sprintln(p.ID, p.Handled, p.Ignored, p.Awaited)
		}
	}
	return state
}

// streaks has how often in a row each process was seen at work, in state R or D.
type streaks map[proc.ID]int

// add counts a snapshot, and reports whether a process was at work in three snapshots in a row. Such a
// process is loading, for longer on a busy machine.
func (s streaks) add(all []*proc.Process) (loads bool) {
	const inARow = 3
	for _, p := range all {
		s[p.ID]++
		if p.State != 'R' && p.State != 'D' {
			s[p.ID] = 0
		}
		loads = loads || s[p.ID] >= inARow
	}
	return loads
}

// isChildless reports whether a launcher, or a shell with a trap, has no child. It has still to start one.
func isChildless(all *proc.Snapshot, below []*proc.Process) bool {
	for _, p := range below {
		kind := program.Of(p)
		hasTrap := p.Handles(unix.SIGTERM) && !program.HandlesWithoutTrap(p)
		starts := kind == program.Launcher || kind == program.Shell && hasTrap
		if starts && len(all.Children(p.PID)) == 0 {
			return true
		}
	}
	return false
}
