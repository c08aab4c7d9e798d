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

// clue is a process at work that was sent the stop signal. Its death may show that it has no handler, or
// its exit status that the one below has none, to which it passed the signal on.
type clue struct {
	proc.Process
	loses  bool         // by its own death
	below  proc.Process // the only one at work below a worker, zero where that is not known
	signal unix.Signal
	at     time.Time
}

// clues are what the deaths in a stop may show.
type clues struct {
	atWork []proc.Process // when the stop began
	of     map[int]clue   // by pid
}

// inspect checks once, when an entrypoint has had time to exec, whether the worker keeps signals from what
// is below it, or PM2 from having its time. PM2 may have been left by a worker that has daemonized.
func (s *Supervisor) inspect() {
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
			s.clues.atWork = append(s.clues.atWork, diag.AtWork(before, p.PID)...)
		}
	}
	if before == nil || s.worker.Gone() {
		return
	}
	s.warnWrapped(before)
	s.journal.NotTheWorkers(diag.Strangers(before, os.Getpid(), s.worker.PID, s.sys.Environ))
	if !s.isTold(before) {
		s.journal.Say(journal.Untold, journal.ErrUntold)
	}
	s.clues.atWork = diag.AtWork(before, s.worker.PID)
}

// isTold reports whether a snapshot tells which signals the worker handles.
func (s *Supervisor) isTold(all *proc.Snapshot) bool {
	w, ok := all.Process(s.worker.PID)
	return !ok || w.IsTold()
}

// noteClues notes the processes at work that were sent the stop signal, and a worker of which nothing is
// known. It warns of one that ignores it. What others start is their business.
func (s *Supervisor) noteClues(all *proc.Snapshot, made []forward.Delivery) {
	for _, d := range made {
		for _, p := range d.Reached() {
			atWork := slices.ContainsFunc(s.clues.atWork, func(w proc.Process) bool { return w.ID == p.ID })
			c := clue{p, p.Start == 0, proc.Process{}, d.Signal, time.Now()}
			if atWork || s.worker.Is(p.PID) {
				c.loses, c.below = !diag.OnlyWaits(all, p, d.Signal), diag.OnlyBelow(all, p)
			}
			switch {
			case c.loses && p.Ignores(d.Signal):
				s.journal.Ignores(time.Now(), p, d.Signal)
			case c.loses || c.below.PID != 0: // else its death tells nothing, and there may be any number
				s.clues.of[p.PID] = c
			}
		}
	}
}

// warnDeath warns of a child that died of the stop signal for want of a handler, or of the one below it, whose
// death it tells by the status 128+n, as tsx does. Later than at once a death may be good manners: the process
// had the signal blocked, or sent it to itself.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	const atOnce, relayed, onABusyMachine = 100 * time.Millisecond, 500 * time.Millisecond, time.Second
	c, ok := s.clues.of[child.PID]
	delete(s.clues.of, child.PID)
	died, within, dies := c.Process, atOnce, c.loses
	if child.TermSignal() == 0 {
		now, err := s.sys.Read(c.below.PID)
		died, within, dies = c.below, relayed, c.below.PID != 0 && (err != nil || !now.Alive())
	}
	if !ok || !dies || child.ExitStatus() != 128+int(c.signal) || s.interrupted() {
		return
	}
	if died.Start == 0 {
		died.Comm = s.worker.Comm
	}
	lacks, certain := diag.LacksHandler(died, c.signal)
	took := time.Since(c.at)
	soon := certain && took <= onABusyMachine || took <= within
	if lacks && (certain || soon) {
		s.cfg.Record.lacks(died, certain)
	}
	if lacks && soon {
		s.journal.NoHandler(died, c.Process, c.signal, cmp.Or(s.machine.StopSignal(), c.signal), certain)
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

// warnPending warns of the same before drainit has sent any: the signal is on its way to a process already.
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
