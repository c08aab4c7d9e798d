package supervisor

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/diag"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
)

// announce writes the line of one action.
func (s *Supervisor) announce(now time.Time, a machine.Action) {
	switch a.Kind {
	case machine.AnnounceDrain:
		s.journal.Draining(now, a.Signal, s.job != nil && !s.cfg.SecondStopIgnored)
	case machine.AnnounceExit:
		left, err := s.left()
		hint := ""
		if !s.cfg.Forking {
			hint = s.journal.ForkingHint(left, s.job != nil)
		}
		s.journal.Exited(now, left, err, hint)
	case machine.AnnounceStop:
		s.journal.StopRequested(now, a.Signal)
	case machine.AnnounceSignaled:
		s.journal.Signaled(now, s.worker.Process(), a.Signal)
	case machine.AnnounceLeaving:
		left, err := s.left()
		s.journal.Leaving(left, err)
	case machine.AnnounceSame:
		s.journal.Same(a.Signal)
	case machine.AnnounceProgress:
		left, err := s.left()
		s.journal.Progress(now, left, err)
	case machine.AnnounceOver:
		s.announceKill(now, s.journal.GraceOver())
	case machine.AnnounceForce:
		s.announceKill(now, "second stop signal, force-stop")
	case machine.AnnounceStuck:
		s.killed.Victims = "" // not all of them were
		left, err := s.left()
		s.journal.Stuck(left, err)
	default:
		s.journal.Log.Error(fmt.Sprintf("no such action: %d", a.Kind)) // a bug, and no reason for PID 1 to end
	}
}

// announceKill names what is about to be killed, and keeps it for the end.
func (s *Supervisor) announceKill(now time.Time, why string) {
	if s.killed.Why == "" {
		s.killed.Why, s.killed.At = why, now
	}
	left, err := s.left()
	switch {
	case err != nil:
		s.killed.Victims, s.killed.Any = "what was left", true
	case len(left) > 0:
		s.killed.Victims, s.killed.Any = journal.List(left), true
	}
	s.journal.Killing(why, left, err)
}

// left is what is alive below drainit.
func (s *Supervisor) left() ([]proc.Process, error) {
	defer s.bound(time.Now(), false)
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
	s.journal.Warning(s.facts(before).NoHandler(s.stopSignal(), deliver))
}

// warnWrapped warns of a worker behind a shell or a launcher. A shell that has the
// terminal is there for its own sake.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	if !s.job.Granted() {
		s.journal.WarningOnce("wrapped", s.facts(all).Wrapped())
	}
}

// warnBlockedTraps warns of a shell whose trap can't run, once: what it waits for is not
// read at every snapshot of a drain.
func (s *Supervisor) warnBlockedTraps(tick uint64, all *proc.Snapshot) {
	const blockedTrap = "blocked trap"
	if s.journal.Said(blockedTrap) {
		return
	}
	for _, b := range s.ledger.BlockedTraps(tick, all) {
		s.journal.WarningOnce(blockedTrap, diag.BlockedTrap(b.Process, s.withProgram(b.Children[0])))
		return
	}
}

// withProgram reads what runs a process.
func (s *Supervisor) withProgram(p proc.Process) proc.Process {
	if full, err := s.process(proc.Want{Only: p.PID, Program: true}); err == nil && full.ID == p.ID {
		return full
	}
	return p
}
