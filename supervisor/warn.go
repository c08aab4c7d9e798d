package supervisor

import (
	"cmp"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/reaper"
)

// clue is a process at work when the stop began. Its death may tell that it has no handler.
type clue struct {
	proc.Process
	signal unix.Signal // the stop signal that it was sent, 0 for none
	at     time.Time   // when
}

// inspect asks once, when an entrypoint has had its time, what the worker has become:
// mostly of the worker alone.
func (s *Supervisor) inspect() {
	if s.worker.Gone() {
		return
	}
	if w, err := s.sys.Process(s.worker.PID); err != nil || !w.Alive() || !diag.KeepsSignals(w) {
		return
	}
	if all, err := s.sys.Tree(os.Getpid(), nil, firstLook); err == nil {
		s.warnWrapped(all)
	}
}

// warnWrapped warns of a worker that is a shell or a launcher. A shell that has the terminal
// is there for its own sake.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	if s.job.Granted() {
		return
	}
	if wrapper, atWork := diag.Wrapped(all, s.worker.PID); len(atWork) > 0 {
		s.journal.Wrapped(wrapper, atWork, s.cfg.Mode)
	}
}

// warnAtStop warns of a start that would lose jobs under another init. It goes by the
// snapshot from before the signal went out: nothing is read for it.
func (s *Supervisor) warnAtStop(before *proc.Snapshot, made []forward.Delivery) {
	if before != nil && !s.worker.Gone() {
		s.warnWrapped(before)
		for _, p := range diag.PM2(before, s.worker.PID) {
			s.journal.PM2(p)
		}
		for _, p := range diag.AtWork(before, s.worker.PID) {
			s.atWork[p.PID] = clue{Process: p}
		}
	}
	s.noteSent(before, made)
}

// noteSent notes the processes at work that were sent the stop signal. What others start is
// their business.
func (s *Supervisor) noteSent(all *proc.Snapshot, made []forward.Delivery) {
	for _, d := range made {
		if !d.Stop || d.Target > forward.ToGroup {
			continue
		}
		for _, p := range d.Reached() {
			hidden := p.Start == 0 // the worker
			if hidden || s.atWork[p.PID].ID == p.ID && !diag.OnlyWaits(all, p, d.Signal) {
				s.atWork[p.PID] = clue{p, d.Signal, time.Now()}
			}
		}
	}
}

// warnDeath warns of a child that died of the stop signal for want of a handler. Later than
// at once a death may be good manners: the process had the signal blocked, or sent it to
// itself. A person at a terminal sees what their key did.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	const atOnce, onABusyMachine = 100 * time.Millisecond, time.Second
	e := s.atWork[child.PID]
	delete(s.atWork, child.PID)
	if e.signal == 0 {
		return
	}
	if e.Start == 0 {
		e.Comm = s.worker.Comm
	}
	lacks, certain := diag.LacksHandler(e.Process, e.signal)
	took := time.Since(e.at)
	soon := certain && took <= onABusyMachine || took <= atOnce && s.job == nil
	if lacks && soon && child.TermSignal() == e.signal {
		s.journal.NoHandler(e.Process, e.signal, cmp.Or(s.machine.StopSignal(), e.signal), certain)
	}
}

// warnParent is for a drainit that no stop signal can reach: the platform sends it to PID 1,
// and between that and drainit are shells and launchers alone, the last of them a shell. On a
// terminal a person may have typed it there.
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
