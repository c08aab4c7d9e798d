package inspect

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
	"drainit/reaper"
)

// observe notes of each process of the plan whether it has children and which files it has open, and prepares
// to read how it ends.
func (r *rehearsal) observe() {
	const mostEndings = 256 // each takes a descriptor, and of the others the end is as on an older kernel
	for i, p := range r.plan.Processes {
		p.children = len(r.plan.all.Children(p.PID)) > 0
		p.open, _ = proc.OpenFiles(p.PID)
		if i < mostEndings {
			p.ending, _ = reaper.NewEnding(p.ID, r.read)
		}
	}
}

// hold stops, with SIGSTOP, the processes that drainit leaves to others. To the process above, such a process
// seems to be at work. So the process above does what it would do with one at work: it signals it, waits for
// it, goes away, or kills it. No process is held if a job is in hand, Hold is 0, or the platform signals each
// process.
func (r *rehearsal) hold() {
	if r.plan.inHand || r.Hold == 0 || r.cfg.Mode == forward.ModeNone {
		return
	}
	for _, p := range r.plan.Processes {
		p.held = r.holds(p) && reaper.Signal(p.ID, unix.SIGSTOP, r.read) == nil
	}
	for n := 0; n < 100 && slices.ContainsFunc(r.plan.Processes, r.runsStill); n++ {
		time.Sleep(10 * time.Millisecond) // it takes a moment, and longer on a busy machine
	}
}

// holds reports whether a process is to be held. It may be at work, drainit is not sure to signal it at once,
// and each process below it dies of the signal or is a helper. Children of drainit are not held, nor are
// helpers and processes that read what another writes.
func (r *rehearsal) holds(p *row) bool {
	all, sure := r.plan.all, p.foreseen.Now && p.foreseen.Busy == "" && p.foreseen.Else == forward.Stop
	handles := func(q *proc.Process) bool { return q.On(r.plan.stop) != proc.Dies && !diag.IsHelper(*q) }
	if !p.Alive() || p.PPID == r.PID || sure || diag.IsHelper(p.Process) || all.HasWriters(p.PID) {
		return false
	}
	return !slices.ContainsFunc(all.Descendants(p.PID), handles)
}

// runsStill reports whether a process that is to be held has not stopped yet.
func (r *rehearsal) runsStill(p *row) bool {
	now, err := r.read(p.PID)
	return p.held && err == nil && now.ID == p.ID && now.Alive() && !now.Stopped()
}

// holdFor returns how long processes are held: for Hold, but not into the last call.
func (r *rehearsal) holdFor() time.Duration {
	const margin = 2 * time.Second
	last, _ := machine.Calls(r.cfg.Grace, r.cfg.Limit)
	if r.cfg.Grace == machine.Forever {
		return r.Hold
	}
	return min(r.Hold, max(last/2, last-margin))
}

// release continues each process of the plan that is still stopped, even if another has stopped it. at is the
// time since the stop began, and release sets waited to it if one of these was held.
func (r *rehearsal) release(at time.Duration) {
	for _, p := range r.plan.Processes {
		now, err := r.read(p.PID)
		if err != nil || now.ID != p.ID || !now.Stopped() {
			continue
		}
		if _ = reaper.Signal(p.ID, unix.SIGCONT, r.read); p.held {
			r.plan.waited = at
		}
	}
}

// watch notes what becomes of each process of the plan, until drainit's loop has ended. drainit itself learns
// that only of its children.
func (r *rehearsal) watch() {
	holding, limit := true, r.holdFor()
	for isLast := false; !isLast; {
		time.Sleep(25 * time.Millisecond)
		isLast = r.loop.Err() != nil
		all, _ := r.tree(r.PID, nil, time.Second)
		now := time.Since(r.stopped)
		for _, p := range r.plan.Processes {
			p.look(all, r.PID, now, holding)
		}
		r.noteNew(all, now)
		if holding && now >= limit {
			holding = false
			r.release(now)
		}
	}
}

// look notes what a snapshot shows of the process. self is drainit's pid, at is the time since the stop
// began, and holding says that the held processes have not been released yet.
func (p *row) look(all *proc.Snapshot, self int, at time.Duration, holding bool) {
	now, ok := all.Process(p.PID)
	if p.ended > 0 {
		return
	}
	if !ok || now.ID != p.ID || !now.Alive() {
		p.killed = p.held && !p.loose && holding
		p.endedAt(at)
		return
	}
	p.adopted = p.adopted || now.PPID == self && p.PPID != self
	p.loose = p.loose || p.held && holding && !now.Stopped()
	stops := signals.SetOf(unix.SIGTERM, unix.SIGINT, unix.SIGQUIT, unix.SIGHUP)
	if p.pending == 0 && p.held && !p.loose && now.Pending&stops != 0 {
		p.pending = at
	}
}

// noteNew notes the processes that were started in the stop, handle its signal, and stay for longer than a
// moment. It leaves out shells and launchers.
func (r *rehearsal) noteNew(all *proc.Snapshot, at time.Duration) {
	const aMoment = time.Second / 2
	for _, p := range all.Descendants(r.PID) {
		first, seen := r.came[p.ID]
		switch {
		case !p.Handles(r.plan.stop) || program.Of(p) != program.Other || r.plan.row(p.ID) != nil:
		case !seen:
			r.came[p.ID] = at
		case at-first >= aMoment:
			r.plan.came = append(r.plan.came, *p)
			r.came[p.ID] = machine.Forever // once is enough
		}
	}
}
