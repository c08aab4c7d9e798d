package inspect

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/program"
)

// settle waits until the worker is ready, if its settings say what shows that. Otherwise it waits until the
// processes and their handlers have not changed for a time, none is loading, and no launcher or shell lacks
// its first child. If they change all the time, it stops waiting and sets unsettled. settled is false if the
// worker has ended or its stop has begun.
func (r *rehearsal) settle() (settled bool, err error) {
	const changeFor, childWithin, readyWithin = 10 * time.Second, 30 * time.Second, 5 * time.Minute
	const pause = 50 * time.Millisecond
	self, awaited := os.Getpid(), r.cfg.ReadyPort != 0
	began, calm, last, runs := time.Now(), time.Now(), "", make(streaks)
	for ; r.going(); time.Sleep(pause) {
		now := time.Now()
		waited := now.Sub(began)
		switch {
		case awaited && r.is.Ready():
			return true, nil
		case awaited && waited >= readyWithin:
			return false, fmt.Errorf("the worker was not ready after %v", readyWithin)
		case awaited:
			continue
		}
		all, _ := r.tree(self, nil, time.Second)
		these, childless := stateOf(all.Descendants(self)), childless(all, self)
		changes := these != last || runs.add(all.Descendants(self))
		switch {
		case !r.is.WorkerAlive || changes && waited < changeFor+r.Settle:
			calm, last = now, these
		case childless != nil && waited >= childWithin:
			const advice = "say when it is ready, by --ready-port"
			return false, fmt.Errorf("%v had started no process after %v: "+advice, childless, childWithin)
		case childless == nil && (changes || now.Sub(calm) >= r.Settle):
			r.unsettled = changes
			return true, nil
		}
	}
	return false, nil
}

// stateOf returns what must not change while settle waits: which processes there are, and how each treats
// signals. It leaves out helpers, since a script starts a sleep(1) all the time.
func stateOf(all []*proc.Process) (state string) {
	for _, p := range all {
		if !diag.IsHelper(*p) {
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

// childless returns a launcher, or a shell with a trap, that has no child, and nil if there is none. Such a
// process has still to start one.
func childless(all *proc.Snapshot, self int) *proc.Process {
	for _, p := range all.Descendants(self) {
		kind := program.Of(p)
		hasTrap := p.Handles(unix.SIGTERM) && !program.HandlesWithoutTrap(p)
		starts := kind == program.Launcher || kind == program.Shell && hasTrap
		if starts && len(all.Children(p.PID)) == 0 {
			return p
		}
	}
	return nil
}
