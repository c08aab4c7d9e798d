package supervisor

import (
	"errors"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/reaper"
)

// On a terminal drainit is a job of a shell, and the worker in turn a job of
// drainit's: in a process group of its own, in the background, until it reads
// the terminal (section "Job Control" of POSIX, General Terminal Interface).

// workerStopped acts on a worker that was stopped, as a shell would on its job.
func (s *supervisor) workerStopped() {
	fg, ok := s.tty.foreground()
	if !ok || s.machine.Phase() == Killing {
		return
	}
	switch {
	case s.wantsTerminal() && fg != s.group:
		if s.tty.lend(s.group) {
			s.continueGroup()
		} else {
			s.stopAsJob(wholeGroup) // in the background, as the worker is
		}
	case s.wantsTerminal():
		s.continueGroup() // it has it by now
	case fg == s.group && !s.stopAsJob(wholeGroup): // Ctrl-Z, or its own doing
		s.continueGroup()
	case fg == unix.Getpgrp() && s.stopSig == unix.SIGSTOP:
		s.stopAsJob(wholeGroup)
	}
}

// suspend is Ctrl-Z while drainit has the terminal, for a worker that does not
// catch TSTP: both stop, and the shell is back. It reports false where the
// signal means quiet.
func (s *supervisor) suspend() bool {
	if s.gone || !s.tty.ours() && !s.stoppedAbove() || !s.mayStop() {
		return false
	}
	sig := s.cfg.Rewrites.Apply(unix.SIGTSTP)
	if catchers, err := s.catchers(ModeAuto, sig); err != nil || len(catchers) > 0 || sig != unix.SIGTSTP {
		return false
	}
	if s.inbox.overtaken() { // fg came before drainit could stop: to stop now would be for good
		s.resumed++
		return true
	}
	if err := reaper.SignalGroup(s.group, unix.SIGTSTP); err != nil {
		return false
	}
	return s.stopAsJob(alone)
}

// stoppedAbove reports whether one above drainit in its own group has stopped
// already by the same key, a script or npm: the shell that saw it may have taken the
// terminal back before drainit looked.
func (s *supervisor) stoppedAbove() bool {
	if !s.tty.exists() {
		return false
	}
	for pid := os.Getppid(); pid > 0; {
		p, err := reaper.ReadProcess(pid)
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

// What stops with drainit: a key stops its whole process group, which is the job
// that the shell knows; but where the key stopped the worker's group, or came to
// drainit's, only one of them has been sent the signal.
const (
	alone      = false
	wholeGroup = true
)

// stopAsJob stops drainit, as the job of a shell that it is, and continues the
// worker when the shell continues drainit. It reports false where nobody could.
func (s *supervisor) stopAsJob(group bool) bool {
	if !s.mayStop() {
		return false
	}
	before := s.inbox.continued.Load()
	if err := stopSelf(group); err != nil {
		s.log.Warn("cannot stop for the shell: " + err.Error())
		return false
	}
	// The CONT is on its way from the runtime, unless the shell has died meanwhile
	// and the kernel discarded the stop.
	const atMost = time.Second
	for wait := time.Now().Add(atMost); s.inbox.continued.Load() == before && time.Now().Before(wait); {
		time.Sleep(time.Millisecond)
	}
	if s.inbox.continued.Load() != before {
		s.resumed++
	}
	if s.tty.lent || s.wantsTerminal() {
		s.tty.lend(s.group) // by fg; after bg it is not drainit's to lend
	}
	s.continueGroup()
	return true
}

// wantsTerminal reports whether the worker is stopped until it has the terminal.
// top catches TTOU, and then stops itself.
func (s *supervisor) wantsTerminal() bool {
	switch s.stopSig {
	case unix.SIGTTIN, unix.SIGTTOU:
		return true
	case unix.SIGSTOP:
		return !s.tty.lent && s.catches(unix.SIGTTOU)(s.worker)
	}
	return false
}

func (s *supervisor) continueGroup() {
	s.stopSig = 0
	if err := reaper.SignalGroup(s.group, unix.SIGCONT); errors.Is(err, reaper.ErrGone) {
		_ = s.signalWorker(unix.SIGCONT)
	}
}

// continuedByShell reports whether a CONT is the one that ended a stop of
// drainit's own: it has been acted upon.
func (s *supervisor) continuedByShell() bool {
	if s.resumed > 0 {
		s.resumed--
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
	phase := s.machine.Phase()
	return (phase == Running || phase == Quiet) && s.inbox.asked.Load() == s.stopsTaken && canStop()
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
		p, err := reaper.ReadProcess(pid)
		if err != nil {
			return false
		}
		pid = p.PPID
	}
	return false
}

// stopSelf stops the whole of drainit, or of its process group, by TSTP with its
// default action. It comes back when drainit was continued, or at once where the
// kernel discards the stop. It goes around os/signal, whose Reset leaves the
// runtime's handler in place; and this thread takes the signal before the call
// returns, for it is the one that the kernel asks first (kernel/signal.c,
// complete_signal).
func stopSelf(group bool) error {
	var byDefault, before [4]uint64 // a sigaction is at most 32 bytes on what .ci/run builds for
	if err := sigaction(unix.SIGTSTP, &byDefault, &before); err != nil {
		return err
	}
	var err error
	if group {
		err = os.NewSyscallError("kill", unix.Kill(0, unix.SIGTSTP))
	} else {
		err = os.NewSyscallError("tgkill", unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP))
	}
	return errors.Join(err, sigaction(unix.SIGTSTP, &before, nil))
}

// sigaction is rt_sigaction(2), with the kernel's own structures.
func sigaction(sig unix.Signal, to, before *[4]uint64) error {
	const sigsetSize = 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION,
		uintptr(sig), uintptr(unsafe.Pointer(to)), uintptr(unsafe.Pointer(before)), sigsetSize, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

// terminalGone reports whether a HUP says that the terminal has gone: nobody can
// see or stop the worker any more, so that it counts as a stop signal.
func (s *supervisor) terminalGone(sig unix.Signal) bool {
	if sig != unix.SIGHUP || !s.tty.gone() {
		return false
	}
	s.log.Info("the terminal is gone: "+forward.Name(sig)+" counts as SIGTERM", s.phase(), text("signal", forward.Name(sig)))
	return true
}
