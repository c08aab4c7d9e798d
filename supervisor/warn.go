package supervisor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/reaper"
)

// clues are what lines go by.
type clues struct {
	shown  *proc.Snapshot   // that this step has taken for orphans; nil for none
	atWork map[proc.ID]bool // when the stop began
	sent   map[int]sent     // those of them that were sent the stop signal, by pid
}

// sent is a process that was sent the stop signal: its death may tell that it has no handler.
type sent struct {
	proc.Process
	signal unix.Signal
	at     time.Time
}

// inspect asks once, when an entrypoint has had its time, what the worker has become:
// mostly of the worker alone.
func (s *Supervisor) inspect() {
	if s.worker.Gone() {
		return
	}
	w, err := s.sys.Process(s.worker.PID)
	if err != nil || !w.Alive() || !diag.KeepsSignals(w) {
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
		if pm2, ok := diag.PM2(before, s.worker.PID); ok {
			s.journal.PM2(pm2)
		}
		s.clues.atWork = make(map[proc.ID]bool)
		for _, p := range diag.AtWork(before, s.worker.PID) {
			s.clues.atWork[p.ID] = true
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
		for _, p := range diag.Reached(d) {
			unread := p.Start == 0 // the worker
			if !unread && (!s.clues.atWork[p.ID] || diag.OnlyWaits(all, p, d.Signal)) {
				continue
			}
			if s.clues.sent == nil {
				s.clues.sent = make(map[int]sent)
			}
			s.clues.sent[p.PID] = sent{p, d.Signal, time.Now()}
		}
	}
}

// warnDeath warns of a child that died of the stop signal for want of a handler. Later than
// at once a death may be good manners: the process had the signal blocked, or sent it to
// itself. A person at a terminal sees what their key did.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	const atOnce, onABusyMachine = 100 * time.Millisecond, time.Second
	e, ok := s.clues.sent[child.PID]
	if !ok {
		return
	}
	delete(s.clues.sent, child.PID)
	if e.Start == 0 {
		e.Comm = s.worker.Comm
	}
	lacks, certain := diag.LacksHandler(e.Process, e.signal)
	took := time.Since(e.at)
	switch {
	case child.TermSignal() != e.signal || !lacks:
	case certain && took <= onABusyMachine:
		s.journal.NoHandler(e.Process, e.signal, s.stopSignal())
	case !certain && took <= atOnce && s.job == nil:
		s.journal.DiedAtOnce(e.Process, e.signal)
	}
}

// warnBlockedTraps warns of a shell whose trap can't run, once.
func (s *Supervisor) warnBlockedTraps() {
	for _, b := range s.ledger.BlockedTraps() {
		s.journal.BlockedTrap(b.Process, *b.Children[0])
	}
}

// warnParent is for a drainit that no stop signal can reach: the platform sends it to PID 1,
// and between that and drainit are shells and launchers alone, the last of them a shell. On a
// terminal a person may have typed it there.
func (s *Supervisor) warnParent() {
	if s.job != nil {
		return
	}
	var parent proc.Process
	for pid := os.Getppid(); pid != 0; {
		p, err := s.sys.Process(pid)
		if err != nil || !diag.KeepsSignals(p) || parent.PID == 0 && forward.ProgramOf(&p) != forward.Shell {
			return
		}
		if parent.PID == 0 {
			parent = p
		}
		if pid == 1 {
			s.journal.Unreachable(parent)
			return
		}
		pid = p.PPID
	}
}
