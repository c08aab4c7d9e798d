package supervisor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/proc"
)

// announce writes the line of one action.
func (s *Supervisor) announce(now time.Time, a Action) {
	switch a.Kind {
	case AnnounceDrain:
		s.journal.draining(now, a.Signal, s.job != nil)
	case AnnounceExit:
		left, err := s.left()
		s.journal.exited(now, left, err, s.journal.forkingHint(left, s.job != nil))
	case AnnounceStop:
		s.journal.stopRequested(now, a.Signal)
	case AnnounceSame:
		s.journal.same(a.Signal)
	case AnnounceProgress:
		left, err := s.left()
		s.journal.progress(now, left, err)
	case AnnounceOver:
		s.announceKill(now, s.journal.graceOver())
	case AnnounceForce:
		s.announceKill(now, "second stop signal, force-stop")
	case AnnounceStuck:
		s.killed.victims = "" // not all of them were
		left, err := s.left()
		s.journal.stuck(left, err)
	default:
		s.journal.log.Error(fmt.Sprintf("no such action: %d", a.Kind)) // a bug, and no reason for PID 1 to end
	}
}

// announceKill names what is about to be killed, and keeps it for the end.
func (s *Supervisor) announceKill(now time.Time, why string) {
	if s.killed.why == "" {
		s.killed.why, s.killed.at = why, now
	}
	left, err := s.left()
	switch {
	case err != nil:
		s.killed.victims, s.killed.any = "what was left", true
	case len(left) > 0:
		s.killed.victims, s.killed.any = list(left), true
	}
	s.journal.killing(why, left, err)
}

// left is what is alive below drainit.
func (s *Supervisor) left() ([]proc.Process, error) {
	all, err := s.sys.Snapshot(proc.Want{})
	return all.Descendants(os.Getpid()), err
}

// facts are what package diag goes by.
func (s *Supervisor) facts(all *proc.Snapshot) diag.Facts {
	return diag.Facts{Snapshot: all, Worker: s.worker.PID, Mode: s.cfg.Mode, Self: self()}
}

// inspect asks once, when an entrypoint has had its time, what the worker has become:
// mostly of the worker alone.
func (s *Supervisor) inspect() {
	if s.worker.Gone() {
		return
	}
	term := []unix.Signal{unix.SIGTERM}
	until := time.Now().Add(waitersTime)
	alone, err := s.snapshot(proc.Want{Only: s.worker.PID, Program: true, Signals: term, Until: until})
	if err != nil {
		return
	}
	if w, _ := alone.Process(s.worker.PID); !w.Alive() || !diag.KeepsSignals(w) {
		return
	}
	if all, err := s.snapshot(proc.Want{Parents: os.Getpid(), Chain: s.worker.PID, Signals: term, Until: until}); err == nil {
		s.warnWrapped(all)
	}
}

// warnAtStop warns of a start that would lose jobs under another init, and of one that
// does under any. It goes by the snapshot from before the signal went out.
func (s *Supervisor) warnAtStop(before *proc.Snapshot, deliver unix.Signal) {
	if before == nil || s.worker.Gone() {
		return
	}
	s.warnWrapped(before)
	s.journal.warning(s.facts(before).NoHandler(s.stopSignal(), deliver))
}

// warnWrapped warns of a worker behind a shell or a launcher. A shell that has the
// terminal is there for its own sake.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	if !s.job.Granted() {
		s.journal.warningOnce("wrapped", s.facts(all).Wrapped())
	}
}

// warnBlockedTraps warns of a shell whose trap can't run.
func (s *Supervisor) warnBlockedTraps(tick uint64, all *proc.Snapshot) {
	for _, b := range s.ledger.BlockedTraps(tick, all) {
		s.journal.warningOnce("blocked trap", diag.BlockedTrap(b.Shell, s.withProgram(b.Child)))
	}
}

// withProgram reads what runs a process.
func (s *Supervisor) withProgram(p proc.Process) proc.Process {
	all, err := s.sys.Snapshot(proc.Want{Only: p.PID, Program: true})
	if full, ok := all.Process(p.PID); err == nil && ok && full.ID == p.ID {
		return full
	}
	return p
}
