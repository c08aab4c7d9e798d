package supervisor

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/proc"
	"drainit/reaper"
)

// clues are what lines go by.
type clues struct {
	shown    *proc.Snapshot   // that this step has taken for orphans; nil for none
	dir      string           // in which drainit was started
	behind   []proc.ID        // below the worker, with shells and launchers between
	victims  []diag.Victim    // that die of the stop signal, and are to be warned of
	expected map[int]expected // by pid
}

// facts are what package diag goes by.
func (s *Supervisor) facts(all *proc.Snapshot) *diag.Facts {
	return &diag.Facts{Snapshot: all, Worker: s.worker.PID, Self: os.Getpid(), Mode: s.cfg.Mode}
}

// howStarted is how this drainit was started. The command line is not that of the
// configuration where a test made that.
func (s *Supervisor) howStarted() *diag.Start {
	me, _ := s.process(proc.Want{Only: os.Getpid(), Place: true}) // without a user, nothing is printed that can be pasted
	start := &diag.Start{Command: s.cfg.Command, Path: self(), Env: s.cfg.Env, Dir: s.clues.dir, User: me.Surroundings().User}
	if n := len(os.Args) - len(s.cfg.Command); n > 0 && slices.Equal(os.Args[n:], s.cfg.Command) {
		start.Args = os.Args
	}
	return start
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
// does under any. It goes by the snapshot from before the signal went out, and by what was
// sent: nothing is read for it before.
func (s *Supervisor) warnAtStop(before *proc.Snapshot, made []forward.Delivery) {
	f := s.facts(before)
	s.expectDeaths(f, made)
	if before == nil {
		return
	}
	if !s.worker.Gone() {
		s.warnWrapped(before)
		s.warnPM2(f)
		s.clues.behind = f.BehindWrappers()
	}
	s.warnNoHandler(f, made)
}

// warnOfOrphans warns of those that have no handler, too, where only a shell or a launcher
// stood before them: all others are the business of what started them. first is whether
// the stop has begun with them, for /proc could not be read before.
func (s *Supervisor) warnOfOrphans(first bool, all *proc.Snapshot, made []forward.Delivery) {
	switch {
	case first && s.worker.Gone(): // by itself
	case first:
		s.warnAtStop(all, made)
	default:
		var theirs []forward.Delivery
		for _, d := range made {
			if slices.Contains(s.clues.behind, d.Process.ID) {
				theirs = append(theirs, d)
			}
		}
		f := s.facts(all)
		s.expectDeaths(f, theirs)
		s.warnNoHandler(f, theirs)
	}
}

// warnWrapped warns of a worker behind a shell or a launcher. A shell that has the
// terminal is there for its own sake. What the advice needs of the process behind is read
// now: it may be gone, and then the advice is general.
func (s *Supervisor) warnWrapped(all *proc.Snapshot) {
	const wrapped = "wrapped"
	if s.job.Granted() || s.journal.Said(wrapped) {
		return
	}
	f := s.facts(all)
	inner, several, ok := f.Behind()
	if !ok {
		return
	}
	if !several {
		f.Inner, _ = s.process(proc.Want{Only: inner.PID, Program: true, Place: true})
		f.Start = s.howStarted()
	}
	s.journal.WarningOnce(wrapped, f.Wrapped())
}

// warnPM2 says what a PM2 needs whose own time is short: an info line, for a file may set
// it where that is not seen.
func (s *Supervisor) warnPM2(f *diag.Facts) {
	p, ok := f.PM2()
	if !ok {
		return
	}
	env := s.cfg.Env
	now, err := s.process(proc.Want{Only: p.PID, Program: true, Environment: func(proc.Process) bool { return true }})
	if own := now.Surroundings().Env; err == nil && now.ID == p.ID && len(own) > 0 { // a script may have set it
		env = own
	}
	s.journal.Hint(diag.ShortKill(p, env))
}

// noHandler is said of those that are seen to have none; then that others died as fast is
// no news.
const noHandler = "no handler"

// warnNoHandler warns of what dies of the stop signal at once. Of a process that the
// snapshot shows in part only it is asked now, as long as it is not waited for: it may
// wait for the signal without a handler.
func (s *Supervisor) warnNoHandler(f *diag.Facts, made []forward.Delivery) {
	const mostAsked = 50
	if s.journal.Said(noHandler) {
		return
	}
	until := time.Now().Add(waitersTime)
	for i, v := range f.Unhandled(made) {
		if v.Surely() || i >= mostAsked || s.diesOf(v, until) {
			s.clues.victims = append(s.clues.victims, v)
		} else {
			s.expectDeath(v.Process, v.Signal)
		}
	}
	s.warnVictims(time.Now())
}

// warnVictims warns of those that die, in one line. It waits for those that do not handle
// the signal either and were awake when they were asked: their death tells.
func (s *Supervisor) warnVictims(now time.Time) {
	if len(s.clues.victims) == 0 {
		return
	}
	for _, e := range s.clues.expected {
		if e.unhandled() && now.Sub(e.at) < atOnce {
			return
		}
	}
	s.journal.WarningOnce(noHandler, diag.NoHandler(s.clues.victims, s.stopSignal()))
	s.clues.victims = nil
}

// diesOf reports whether a process that was sent a signal dies of it, or has.
func (s *Supervisor) diesOf(v diag.Victim, until time.Time) bool {
	now, err := s.process(proc.Want{Only: v.PID, Signals: []unix.Signal{v.Signal}, Until: until})
	switch {
	case err != nil || now.ID != v.ID:
		return false
	case now.Alive():
		return !now.Handles(v.Signal) && !now.Blocked.Has(v.Signal)
	}
	return now.Status.Signaled() && now.Status.Signal() == v.Signal
}

// atOnce is within what time a death of the stop signal says that there was no handler;
// onABusyMachine where none was seen. Later it may be good manners of one that blocks it.
const (
	atOnce         = 100 * time.Millisecond
	onABusyMachine = time.Second
)

// expected is a process that may die of what it was sent, and when that was.
type expected struct {
	proc.Process
	signal unix.Signal
	at     time.Time
}

// unhandled reports whether it was seen to have no handler.
func (e expected) unhandled() bool { return e.Start != 0 && !e.Handles(e.signal) }

// expectDeaths notes those of which only their death tells whether they have a handler.
func (s *Supervisor) expectDeaths(f *diag.Facts, made []forward.Delivery) {
	for _, d := range made {
		for _, p := range diag.Reached(d) {
			if d.Stop && f.MayHaveNone(p, d.Signal) {
				s.expectDeath(p, d.Signal)
			}
		}
	}
}

// expectDeath does so of one. A person at a terminal sees what their key did.
func (s *Supervisor) expectDeath(p proc.Process, sig unix.Signal) {
	if s.job != nil {
		return
	}
	if s.clues.expected == nil {
		s.clues.expected = make(map[int]expected)
	}
	if p.Comm == "" { // hidden from us, or not looked at
		p.Comm = s.worker.Comm
	}
	s.clues.expected[p.PID] = expected{p, sig, time.Now()}
}

// warnDeath warns of a child that died of the stop signal as soon as it was sent.
func (s *Supervisor) warnDeath(child reaper.WaitEvent) {
	e, ok := s.clues.expected[child.PID]
	if !ok {
		return
	}
	delete(s.clues.expected, child.PID)
	if e.Start == 0 { // it was not looked at; it is the worker, and its name has been read since
		e.Comm = s.worker.Comm
	}
	if forward.ProgramOf(&e.Process) != forward.Other || child.TermSignal() != e.signal || s.journal.Said(noHandler) {
		return
	}
	switch took := time.Since(e.at); {
	case e.unhandled() && took <= onABusyMachine: // it is warned of with the others
		s.clues.victims = append(s.clues.victims, diag.Victim{Process: e.Process, Signal: e.signal})
	case took <= atOnce:
		s.journal.WarningOnce("died at once", diag.DiedAtOnce(e.Process, e.signal))
	}
}

// warnBlockedTraps warns of a shell whose trap can't run, once.
func (s *Supervisor) warnBlockedTraps(tick uint64, all *proc.Snapshot) {
	const blockedTrap = "blocked trap"
	if s.journal.Said(blockedTrap) {
		return
	}
	for _, b := range s.ledger.BlockedTraps(tick, all) {
		s.journal.WarningOnce(blockedTrap, diag.BlockedTrap(b.Process, *b.Children[0]))
		return
	}
}

// warnParent is for a drainit below a shell that is PID 1, or that stands below PID 1 with
// shells and launchers between. On a terminal a person may have typed it there.
func (s *Supervisor) warnParent() {
	if s.job != nil {
		return
	}
	above := s.shellsAbove()
	if len(above) > 0 {
		s.journal.Unreachable(s.howStarted().Parent(above))
	}
}

// shellsAbove are the processes above drainit, its parent first, as long as they may be
// such ones; none where they do not end with PID 1.
func (s *Supervisor) shellsAbove() (above []proc.Process) {
	const most = 10
	for pid := os.Getppid(); pid != 0 && len(above) < most; {
		p, err := s.process(proc.Want{Only: pid, Program: true})
		if err != nil || forward.ProgramOf(&p) == forward.Other { // mostly
			return nil
		}
		if p, err = s.process(proc.Want{Only: pid, Program: true, Place: true, Signals: []unix.Signal{unix.SIGTERM}}); err != nil {
			return nil
		}
		above = append(above, p)
		if pid == 1 {
			return above
		}
		pid = p.PPID
	}
	return nil
}
