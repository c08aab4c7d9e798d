package supervisor

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// On a terminal drainit is a job of a shell, and the worker in turn a job of
// drainit's: in a process group of its own, in the background, until it reads
// the terminal (section "Job Control" of POSIX, General Terminal Interface).

// workerStopped acts on a worker that was stopped, as a shell would on its job.
func (s *supervisor) workerStopped() {
	since := s.inbox.continued.Load()
	fg, ok := s.tty.foreground()
	if !ok || s.machine.Phase() == phase.Killing {
		return
	}
	switch {
	case s.wantsTerminal() && fg != s.group:
		if s.tty.lend(s.group) {
			s.continueGroup()
		} else {
			s.stopAsJob(wholeGroup, since) // in the background, as the worker is
		}
	case s.wantsTerminal():
		s.continueGroup() // it has it by now
	case fg == s.group || s.tty.lent: // Ctrl-Z, or its own doing; it may have lent the terminal in turn
		if !s.stopAsJob(wholeGroup, since) {
			s.continueGroup()
		}
	case fg == unix.Getpgrp() && (s.stopSig == unix.SIGSTOP || s.stopSig == unix.SIGTSTP):
		s.stopAsJob(wholeGroup, since)
	}
}

// suspend is Ctrl-Z while drainit has the terminal, for a worker that does not
// catch TSTP: both stop, and the shell is back. It reports false where the
// signal means quiet.
func (s *supervisor) suspend() bool {
	if s.gone || !s.tty.ours() && !s.stoppedAbove() && !s.lentBeside() || !s.mayStop() {
		return false
	}
	sig := s.cfg.Rewrites.Apply(unix.SIGTSTP)
	if catchers, err := s.catchers(ModeAuto, sig); err != nil || len(catchers) > 0 || sig != unix.SIGTSTP {
		return false
	}
	s.settle()
	if len(s.inbox.stops) > 0 {
		return true // the worker is about to be told, and could not hear it
	}
	if s.inbox.overtaken() { // fg came before drainit could stop: to stop now would be for good
		s.resumed = s.inbox.continued.Load()
		return true
	}
	if err := reaper.SignalGroup(s.group, unix.SIGTSTP); err != nil {
		return false
	}
	if !s.stopAsJob(alone, s.inbox.atQuiet.Load()) {
		s.continueGroup()
	}
	return true
}

// stoppedAbove reports whether one above drainit in its own group has stopped
// already by the same key, a script or npm: the shell that saw it may have taken the
// terminal back before drainit looked.
func (s *supervisor) stoppedAbove() bool {
	if !s.tty.exists() {
		return false
	}
	for pid := os.Getppid(); pid > 0; {
		p, err := proc.ReadProcess(pid)
		if err != nil || p.PGID != unix.Getpgrp() {
			return false
		}
		if p.Stopped() {
			return true
		}
		pid = p.PPID
	}
	return false
}

// lentBeside reports whether another drainit of drainit's own group has lent the terminal
// to its worker, as in a pipeline: what stops that one is to stop the whole job.
func (s *supervisor) lentBeside() bool {
	fg, ok := s.tty.foreground()
	if !ok || fg == s.group {
		return false
	}
	leader, err := proc.ReadProcess(fg)
	if err != nil || leader.PPID == os.Getpid() {
		return false
	}
	lender, err := proc.ReadProcess(leader.PPID)
	return err == nil && lender.PGID == unix.Getpgrp()
}

// What stops with drainit: a key stops its whole process group, which is the job
// that the shell knows; but where the key stopped the worker's group, or came to
// drainit's, only one of them has been sent the signal.
const (
	alone      = false
	wholeGroup = true
)

// stopAsJob stops drainit, as the job of a shell that it is, and continues the
// worker when the shell continues drainit. It reports false where nobody could. A CONT
// is newer than the reason for the stop if more than since have come.
func (s *supervisor) stopAsJob(group bool, since uint64) bool {
	if !s.mayStop() {
		return false
	}
	if s.calledBack(since) {
		return true
	}
	// A signal that calls drainit back until it stops would find it stopped for good.
	// So the stop is sent first, and asked about while it is blocked: who came before
	// is seen, and the CONT of who comes later discards it (kernel/signal.c,
	// prepare_signal).
	s.inbox.awaited.Store(true)
	defer s.inbox.awaited.Store(false)
	err := sendStop(group)
	if err != nil || s.calledBack(since) {
		_ = endStop(ignore)
		if group {
			continueOthers()
		}
	} else if err = endStop(byDefault); err == nil {
		s.awaitCont(since)
		s.regain()
		s.goOn()
	}
	if err != nil {
		s.log.Warn("cannot stop for the shell: " + err.Error())
	}
	return err == nil
}

// awaitCont waits for the CONT that ended a stop, which is on its way from the runtime,
// unless the shell has died meanwhile and the kernel discarded the stop.
func (s *supervisor) awaitCont(since uint64) {
	const atMost = time.Second
	for wait := time.Now().Add(atMost); s.inbox.continued.Load() == since && time.Now().Before(wait); {
		time.Sleep(time.Millisecond)
	}
}

// regain lends the worker the terminal again that it had or waits for, and reports
// whether it could: by fg, for after bg it is not drainit's to lend.
func (s *supervisor) regain() bool {
	return (s.tty.lent || s.wantsTerminal()) && s.tty.lend(s.group)
}

// goOn continues the worker, and counts each CONT so far as acted upon.
func (s *supervisor) goOn() {
	s.resumed = s.inbox.continued.Load()
	s.continueGroup()
}

// calledBack reports whether drainit must not stop, and the worker has been
// continued or will be told: a stop signal is in hand, or fg or bg came meanwhile.
func (s *supervisor) calledBack(since uint64) bool {
	s.settle()
	switch {
	case len(s.inbox.stops) > 0:
		// A shell sends TERM and then CONT to a job that is stopped, and a worker that
		// reads stops again at once: to stop with it would put off the TERM for good.
		return true
	case s.regain(), // by fg, whose CONT may not be seen, for a stop discards it
		s.inbox.continued.Load() != since:
		s.goOn()
		return true
	}
	return false
}

// settle waits until no signal is on its way through drainit: all its other threads
// sleep, and with one processor, for which they would sleep as well, all goroutines have
// had that. Who sent TERM and then CONT has had drainit woken by both, but the thread
// with the TERM may be late on a busy machine. Without /proc it waits for as long as such
// a thread takes as a rule.
func (s *supervisor) settle() {
	const atMost, mostly = time.Second, 50 * time.Millisecond
	for began := time.Now(); len(s.inbox.stops) == 0; {
		time.Sleep(time.Millisecond)
		runtime.Gosched()
		rest, err := proc.OtherThreadsSleep()
		if spent := time.Since(began); rest || spent > atMost || err != nil && spent > mostly {
			return
		}
	}
}

// wantsTerminal reports whether the worker is stopped until it has the terminal.
// top catches TTOU, and then stops itself; so does another drainit, by TSTP.
func (s *supervisor) wantsTerminal() bool {
	switch s.stopSig {
	case unix.SIGTTIN, unix.SIGTTOU:
		return true
	case unix.SIGSTOP, unix.SIGTSTP:
		return !s.tty.lent && s.groupCatches(unix.SIGTTOU)
	}
	return false
}

// groupCatches reports whether anybody in the worker's group catches a signal.
func (s *supervisor) groupCatches(sig unix.Signal) bool {
	t, err := proc.ReadTree()
	if err != nil {
		return s.catches(sig)(s.worker)
	}
	return slices.ContainsFunc(t.Group(s.group), func(p proc.Process) bool { return p.HasHandler(sig) })
}

// groupStops reports whether anybody in the worker's group is stopped, or is about to be.
func (s *supervisor) groupStops() bool {
	t, err := proc.ReadTree()
	if err != nil {
		return s.isStopped(s.worker)
	}
	return slices.ContainsFunc(t.Group(s.group), func(p proc.Process) bool { return p.Stopped() || proc.StopPending(p.PID) })
}

func (s *supervisor) continueGroup() {
	s.stopSig = 0
	if err := reaper.SignalGroup(s.group, unix.SIGCONT); errors.Is(err, reaper.ErrGone) {
		_ = s.signalWorker(unix.SIGCONT)
	}
}

// continuedByShell reports whether a CONT has been acted upon: it is the one that ended
// a stop of drainit's own, or has come together with one that was.
func (s *supervisor) continuedByShell() bool {
	before := s.resumed
	if s.resumed = s.inbox.continued.Load(); s.resumed == before {
		return true
	}
	// A worker that waits for the terminal may have it now.
	if s.wantsTerminal() && s.tty.lend(s.group) {
		s.continueGroup()
		return true
	}
	return false
}

// returnTerminal is for the end of a worker: the terminal goes back to whom it
// came from, with its modes where the worker had no chance to restore them.
func (s *supervisor) returnTerminal() {
	if !s.tty.exists() {
		return
	}
	s.tty.takeBack(s.group)
	if s.signaled || !s.gone {
		s.tty.restoreModes()
	}
}

// mayStop reports whether drainit can stop and has nothing else to do: a stop in
// progress, or on its way, ends with the grace.
func (s *supervisor) mayStop() bool {
	now := s.machine.Phase()
	return (now == phase.Running || now == phase.Quiet) && !s.inHand && len(s.inbox.stops) == 0 && canStop()
}

// canStop reports whether somebody could continue drainit: its process group is
// not orphaned. In such a one the kernel discards the stop (setpgid(2)).
func canStop() bool {
	if os.Getpid() == 1 {
		return false
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 0; {
		sid, err := unix.Getsid(pid)
		if err != nil || sid != session {
			return false
		}
		if group, err := unix.Getpgid(pid); err != nil || group != unix.Getpgrp() {
			return err == nil
		}
		p, err := proc.ReadProcess(pid)
		if err != nil {
			return false
		}
		pid = p.PPID
	}
	return false
}

// terminalGone reports whether a HUP says that the terminal has gone: nobody can
// see or stop the worker any more, so that it counts as a stop signal.
func (s *supervisor) terminalGone(sig unix.Signal) bool {
	if sig != unix.SIGHUP || !s.tty.gone() {
		return false
	}
	s.log.Info("the terminal is gone: "+signals.Name(sig)+" counts as "+signals.Name(s.stops[0]), s.phaseField(), logx.Text("signal", signals.Name(sig)))
	return true
}
