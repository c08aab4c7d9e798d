package supervisor

import (
	"cmp"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/journal"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/worker"
)

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

// warnStart warns of a worker that is a shell or a launcher above processes at work. It does not if the
// worker has the terminal: a person works with that shell. Nor does it in ModeGroup or ModeNone, where each
// process is signalled.
func (s *Supervisor) warnStart(all *proc.Snapshot) {
	wrapper, atWork := diag.Wrapped(all, s.worker.PID)
	each := s.cfg.Mode == forward.ModeGroup || s.cfg.Mode == forward.ModeNone
	if len(atWork) > 0 && !s.worker.Gone() && !s.job.Granted() && !s.interrupted() && !each {
		s.journal.Warn(diag.WrappedLine(wrapper, atWork, s.cfg.Mode == forward.ModeWorker))
	}
}

// interrupted reports whether a person at a terminal stops the worker by Ctrl-C. That person sees what the
// worker does, and needs no warning of it.
func (s *Supervisor) interrupted() bool { return s.job != nil && s.machine.StopSignal() == unix.SIGINT }

// warnAtStop warns of a start that would lose jobs under another init, and notes which processes are at work.
// before is the snapshot from before the stop signal was sent, nil if there is none.
func (s *Supervisor) warnAtStop(before *proc.Snapshot) {
	s.warnStart(before)
	if s.worker.Daemonized {
		for _, p := range before.Children(os.Getpid()) {
			s.atWork = append(s.atWork, diag.AtWork(before, p.PID)...)
		}
	}
	if before == nil || s.worker.Gone() {
		return
	}
	if !s.masksKnown(before) {
		s.journal.Say(journal.NoMasks, journal.ErrNoMasks)
	}
	left := diag.Unprotected(before, s.worker.PID, s.sends)
	s.atWork = append(diag.AtWork(before, s.worker.PID), left...)
}

// masksKnown reports whether a snapshot shows which signals the worker handles. It is true if the snapshot
// does not show the worker.
func (s *Supervisor) masksKnown(all *proc.Snapshot) bool {
	w, ok := all.Process(s.worker.PID)
	return !ok || w.MasksKnown()
}

// works reports whether a process is at work, and does not only wait for others: its death loses something.
func (s *Supervisor) works(p proc.Process, stop unix.Signal) bool {
	isAtWork := func(w proc.Process) bool { return w.ID == p.ID }
	works := s.worker.Is(p.PID) || slices.ContainsFunc(s.atWork, isAtWork)
	return works && !diag.OnlyWaits(s.history.Start, p, stop)
}

// warnIgnoring warns of each process at work that ignores the stop signal.
func (s *Supervisor) warnIgnoring(made []forward.Delivery) {
	for _, d := range made {
		for _, p := range d.Reached() {
			if p.Ignores(d.Signal) && s.works(p, d.Signal) {
				s.journal.OnceOf(p.Comm, journal.Ignoring, p, d.Signal, s.journal.TimeLeft(time.Now()))
			}
		}
	}
}

// warnDeath warns of a process at work that had no handler: it ended by the very stop signal that drainit has
// sent it, within 0.1 s. Later a death may be good manners: such a process had the signal blocked, or sent it
// to itself.
func (s *Supervisor) warnDeath(e worker.Exit) {
	const atOnce, inTime = 100 * time.Millisecond, 1100 * time.Millisecond
	p := e.Process
	if !e.Stop || e.After > atOnce || !s.works(p, e.By) || s.interrupted() {
		return
	}
	if p.Start == 0 { // it is the worker, and no snapshot has shown it
		p.Comm = s.worker.Comm
	}
	lacks, certain := diag.LacksHandler(p, e.By)
	if lacks && !s.journal.Said(journal.SignalsEach, nil) { // else it had another's
		line := diag.NoHandler(p, certain, e.String(), e.By, cmp.Or(s.machine.StopSignal(), e.By))
		if time.Since(s.journal.StopBegan())-e.After > s.cfg.StopDelay+inTime {
			line.Loss = "" // it may have served those that drained
		}
		s.journal.Warn(line)
	}
}

// warnGone warns of each process at work that has ended at once, and of which drainit does not know how: it
// is another's child. A shell has ended it or, if the worker has ended by the signal, any process may have.
// now is a snapshot, nil if no process is left.
func (s *Supervisor) warnGone(now *proc.Snapshot) {
	const atOnce = 200 * time.Millisecond
	if time.Since(s.machine.RequestedAt()) > s.cfg.StopDelay+atOnce || s.interrupted() {
		return
	}
	m, byIt := journal.EndedAtOnce, s.worker.Gone() && s.worker.Exit.ExitStatus() == 128+int(s.sends)
	if byIt {
		m = journal.EndedWithWorker
	}
	for _, p := range s.atWork {
		up, _ := s.history.Start.Process(p.PPID)
		is, _ := now.Process(p.PID)
		lives := is.ID == p.ID && (is.Alive() || is.PPID == os.Getpid())
		d, sent := s.history.StopTo(p.PID)
		known := sent && d.Process.PPID == os.Getpid()
		lacks, _ := diag.LacksHandler(p, s.sends)
		if !lives && !known && lacks && (byIt || program.Of(&up) == program.Shell) {
			s.journal.OnceOf(p.Comm, m, p, s.sends)
		}
	}
}

// warnEach warns if the platform seems to signal each process, and reports whether it has warned. The sign is
// a worker that died of a stop signal that drainit had not sent. came says that a stop signal came to drainit
// at the same time: without it there is no warning.
func (s *Supervisor) warnEach(came bool) bool {
	by := s.worker.Exit.TermSignal()
	seems := came && slices.Contains(s.stops, by) && !s.worker.Exit.IsSent() && s.job == nil
	if seems {
		s.journal.Once(journal.SignalsEach, s.worker, by)
	}
	return seems
}

// warnPending warns that the platform signals each process, not drainit alone (SignalsEach), when drainit has
// not sent a signal so far. A process that has a stop signal pending already shows it. before is the
// snapshot, nil if there is none.
func (s *Supervisor) warnPending(before *proc.Snapshot) {
	if s.job != nil || s.cfg.Mode == forward.ModeNone {
		return
	}
	came := s.machine.StopSignal()
	for _, p := range before.Descendants(os.Getpid()) {
		if (p.Pending &^ p.Blocked).Has(came) {
			s.journal.Once(journal.SignalsEach, *p, came)
			return
		}
	}
}

// warnParent warns if no stop signal can reach drainit. The platform signals PID 1. From there down to
// drainit are only shells and launchers, and drainit's parent is a shell, so none passes the signal on. On a
// terminal it does not warn: a person may use that.
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
			s.journal.Say(journal.Unreachable, parent)
			return
		}
	}
}
