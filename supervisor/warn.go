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
	"drainit/reaper"
)

// checkStart checks once, when an entrypoint has had time to exec, whether the worker keeps signals from what
// is below it, or PM2 from having its time. PM2 may have been left by a worker that has daemonized.
func (s *Supervisor) checkStart() {
	if w, err := s.sys.Process(s.worker.PID); !s.worker.Daemonized && (err != nil || !diag.KeepsSignals(w) && !diag.IsPM2(w)) {
		return
	}
	if all, err := s.sys.Tree(os.Getpid(), nil, firstLook); err == nil {
		s.warnWrapped(all)
		s.warnPM2(all)
	}
}

// warnPM2 warns of an application that PM2 will kill before the grace period is over.
func (s *Supervisor) warnPM2(all *proc.Snapshot) {
	for _, pm2 := range diag.PM2(all, os.Getpid()) {
		for _, app := range all.Children(pm2.PID) {
			var given, own []byte
			if app.Exe != "" { // it could be read, so that it answers
				given, _ = s.sys.Environ(app.PID)
				own, _ = s.sys.Environ(pm2.PID)
			}
			if !diag.GivenTime(given, own) {
				s.journal.PM2(pm2, *app, len(given) > 0 && len(own) > 0)
			}
		}
	}
}

// warnWrapped warns of a worker that is a shell or a launcher. A shell that has the terminal is there for
// its own sake, and in a group, or by the platform, each process is signalled.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	wrapper, atWork := diag.Wrapped(all, s.worker.PID)
	each := s.cfg.Mode == forward.ModeGroup || s.cfg.Mode == forward.ModeNone
	if len(atWork) == 0 || s.job.Granted() || s.interrupted() || each {
		return
	}
	stops := []unix.Signal{s.request(forward.Stop, s.machine.StopSignal()).Signal}
	for _, sig := range s.cfg.StopSignals {
		stops = append(stops, s.request(forward.Stop, sig).Signal)
	}
	s.journal.Wrapped(wrapper, atWork, s.cfg.Mode, diag.Replaceable(wrapper, atWork, stops))
}

// interrupted reports whether a person at a terminal stops the worker, who sees what Ctrl-C did.
func (s *Supervisor) interrupted() bool { return s.job != nil && s.machine.StopSignal() == unix.SIGINT }

// warnAtStop warns of a start that would lose jobs under another init, and keeps which processes are at
// work. It uses the snapshot from before the signal was sent.
func (s *Supervisor) warnAtStop(before *proc.Snapshot) {
	s.warnPM2(before)
	if s.worker.Daemonized {
		for _, p := range before.Children(os.Getpid()) {
			s.deaths.AtWork = append(s.deaths.AtWork, diag.AtWork(before, p.PID)...)
		}
	}
	if before == nil || s.worker.Gone() {
		return
	}
	s.warnWrapped(before)
	s.journal.NotTheWorkers(diag.Strangers(before, os.Getpid(), s.worker.PID, s.sys.Environ))
	if !s.masksKnown(before) {
		s.journal.Say(journal.NoMasks, journal.ErrNoMasks)
	}
	s.deaths.AtWork = diag.AtWork(before, s.worker.PID)
}

// masksKnown reports whether a snapshot tells which signals the worker handles.
func (s *Supervisor) masksKnown(all *proc.Snapshot) bool {
	w, ok := all.Process(s.worker.PID)
	return !ok || w.MasksKnown()
}

// noteSent warns of a process at work that ignores the stop signal, and keeps what the others' deaths may show.
func (s *Supervisor) noteSent(all *proc.Snapshot, made []forward.Delivery) {
	for _, d := range made {
		for _, p := range d.Reached() {
			if s.deaths.Sent(all, p, d.Signal, s.worker.Is(p.PID)) {
				s.journal.Ignores(time.Now(), p, d.Signal)
			}
		}
	}
}

// warnDeath warns of a process that died of the stop signal for want of a handler, by the end of a child.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	l, ok := s.deaths.Ended(child.PID, child.TermSignal(), child.ExitStatus(), s.worker.Comm, s.sys.Read)
	if !ok || s.interrupted() {
		return
	}
	if l.Certain || l.AtOnce {
		s.cfg.Record.lacks(l)
	}
	if l.AtOnce {
		s.journal.NoHandler(l, cmp.Or(s.machine.StopSignal(), l.Signal))
	}
}

// warnEach warns, and reports whether it has, that the platform seems to signal each process: the worker died of a
// stop signal that drainit had not sent, and one came to drainit at the same time.
func (s *Supervisor) warnEach(came bool) bool {
	by := s.worker.Exit.TermSignal()
	seems := came && slices.Contains(s.cfg.stops, by) && !s.worker.Sent.Has(by) && s.job == nil
	if seems {
		s.journal.Once(journal.SignalsEach, s.worker, by)
	}
	return seems
}

// warnPending gives warnEach's warning before drainit has sent a signal: the stop signal is pending in a process.
func (s *Supervisor) warnPending(before *proc.Snapshot) {
	for _, p := range before.Descendants(os.Getpid()) {
		if came := s.machine.StopSignal(); p.Pending.Has(came) && !p.Blocked.Has(came) && s.job == nil && s.cfg.Mode != forward.ModeNone {
			s.journal.Once(journal.SignalsEach, *p, came)
			return
		}
	}
}

// warnParent warns if no stop signal can reach drainit: the platform signals PID 1, and from there down to
// drainit are only shells and launchers, the last of them a shell. On a terminal a person may use that.
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
