package supervisor

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/internal/worker"
)

// warn writes warnings, but none if a person stops the worker by Ctrl-C at a terminal, and sees what it does.
func (s *Supervisor) warn(lines []diag.Line) {
	if s.job == nil || s.machine.StopSignal() != unix.SIGINT {
		s.journal.Warn(lines...)
	}
}

// checkStart warns of a start that would lose jobs under another init (warnStart). It is called once, when an
// entrypoint has had time to exec. It takes a snapshot only if the worker keeps signals from the processes
// below it.
func (s *Supervisor) checkStart() {
	if w, err := s.sys.Process(s.worker.PID); err != nil || !diag.KeepsSignals(w) {
		return
	}
	if all, err := s.sys.Tree(os.Getpid(), nil, firstRead); err == nil {
		s.warnStart(all)
	}
}

// warnStart warns of a wrapped worker, unless it has the terminal: a person works with that shell.
func (s *Supervisor) warnStart(all *proc.Snapshot) {
	if !s.worker.Gone() && !s.job.Granted() {
		s.warn(diag.AtStart(all, s.worker.PID, s.cfg.Mode))
	}
}

// beginWarnings warns of a start that would lose jobs under another init, and of a platform that signals each
// process. It begins the warnings of the stop. before is the snapshot from before the stop signal was sent,
// nil if there is none.
func (s *Supervisor) beginWarnings(before *proc.Snapshot) {
	s.warnings.Came, s.warnings.Sends, s.warnings.Start = s.machine.StopSignal(), s.sends, before
	s.warnings.Began = s.sys.Ticks()
	if s.job == nil && s.cfg.Mode != forward.ModeNone {
		s.warn(s.warnings.Pending(os.Getpid()))
	}
	s.warnStart(before)
	s.journal.Warn(s.warnings.Begin(os.Getpid(), s.worker.Daemonized)...)
}

// warnDeath warns of a process that has ended by the stop signal, if that has lost its work.
func (s *Supervisor) warnDeath(e worker.Exit) {
	if e.Process.Start == 0 { // it is the worker, and no snapshot has shown it
		e.Process.Comm = s.worker.Comm
	}
	s.warn(s.warnings.Death(e.Cause, e.String()))
	s.warnings.Reaped(e.PID)
}

// warnGone warns of processes at work that have ended at once. now is a snapshot, nil if no process is left.
func (s *Supervisor) warnGone(now *proc.Snapshot) {
	byIt := s.worker.Gone() && s.worker.Exit.ExitStatus() == 128+int(s.sends)
	s.warn(s.warnings.Gone(now, s.sys.Ticks(), s.history, os.Getpid(), byIt))
}

// warnEach warns if the platform seems to signal each process, and reports whether it has warned. The sign is
// a worker that died of a stop signal that drainit had not sent, where a stop signal came to drainit at the
// same time (came).
func (s *Supervisor) warnEach(came bool) bool {
	by := s.worker.Exit.TermSignal()
	seems := came && slices.Contains(s.stops, by) && !s.worker.Exit.IsSent() && s.job == nil
	if seems {
		s.warn(s.warnings.Each(s.worker.Process(), by))
	}
	return seems
}

// warnAbove warns if no stop signal can reach drainit. On a terminal it does not: a person may use that.
func (s *Supervisor) warnAbove() {
	var above []proc.Process
	for pid := os.Getppid(); s.job == nil && (len(above) == 0 || above[len(above)-1].PID != 1); {
		p, err := s.sys.Process(pid)
		if err != nil || !diag.KeepsSignals(p) {
			return
		}
		above, pid = append(above, p), p.PPID
	}
	s.warn(diag.Above(above))
}
