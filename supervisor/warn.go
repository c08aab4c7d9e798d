package supervisor

import (
	"cmp"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/reaper"
)

// clue is a process at work that was sent the stop signal. Its death may tell that it has no handler.
type clue struct {
	proc.Process
	signal unix.Signal
	at     time.Time
}

// inspect asks once, when an entrypoint has had its time, what the worker has become: mostly of the worker
// alone.
func (s *Supervisor) inspect() {
	if s.worker.Gone() {
		return
	}
	if w, err := s.sys.Process(s.worker.PID); err != nil || !diag.KeepsSignals(w) {
		return
	}
	if all, err := s.sys.Tree(os.Getpid(), nil, firstLook); err == nil {
		s.warnWrapped(all)
	}
}

// warnWrapped warns of a worker that is a shell or a launcher. A shell that has the terminal is there for
// its own sake.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	if wrapper, atWork := diag.Wrapped(all, s.worker.PID); len(atWork) > 0 && !s.job.Granted() {
		s.journal.Wrapped(wrapper, atWork, s.cfg.Mode)
	}
}

// warnAtStop warns of a start that would lose jobs under another init, and keeps which processes are at
// work. It goes by the snapshot from before the signal went out: nothing is read for it.
func (s *Supervisor) warnAtStop(before *proc.Snapshot) {
	if before == nil || s.worker.Gone() {
		return
	}
	s.warnWrapped(before)
	for _, p := range diag.PM2(before, s.worker.PID) {
		s.journal.PM2(p)
	}
	s.atWork = diag.AtWork(before, s.worker.PID)
}

// noteClues notes the processes at work that were sent the stop signal, and a worker of which nothing is
// known. What others start is their business.
func (s *Supervisor) noteClues(all *proc.Snapshot, made []forward.Delivery) {
	for _, d := range made {
		for _, p := range d.Reached() {
			atWork := slices.ContainsFunc(s.atWork, func(w proc.Process) bool { return w.ID == p.ID })
			if p.Start == 0 || atWork && !diag.OnlyWaits(all, p, d.Signal) {
				s.clues[p.PID] = clue{p, d.Signal, time.Now()}
			}
		}
	}
}

// warnDeath warns of a child that died of the stop signal for want of a handler. Later than at once a death
// may be good manners: the process had the signal blocked, or sent it to itself. A person at a terminal
// sees what their key did.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	const atOnce, onABusyMachine = 100 * time.Millisecond, time.Second
	c, ok := s.clues[child.PID]
	delete(s.clues, child.PID)
	if !ok || child.TermSignal() != c.signal {
		return
	}
	if c.Start == 0 {
		c.Comm = s.worker.Comm
	}
	lacks, certain := diag.LacksHandler(c.Process, c.signal)
	took := time.Since(c.at)
	if lacks && (certain && took <= onABusyMachine || took <= atOnce && s.job == nil) {
		s.journal.NoHandler(c.Process, c.signal, cmp.Or(s.machine.StopSignal(), c.signal), certain)
	}
}

// warnParent is for a drainit that no stop signal can reach: the platform sends it to PID 1, and between
// that and drainit are shells and launchers alone, the last of them a shell. On a terminal a person may
// have typed it there.
func (s *Supervisor) warnParent() {
	if s.job != nil {
		return
	}
	parent, err := s.sys.Process(os.Getppid())
	if err != nil || program.Of(&parent) != program.Shell {
		return
	}
	for p := parent; err == nil && diag.KeepsSignals(p); p, err = s.sys.Process(p.PPID) {
		if p.PID == 1 {
			s.journal.Unreachable(parent)
			return
		}
	}
}
