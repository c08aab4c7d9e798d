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

// workerStopped acts on a worker that the kernel stopped for the terminal's sake.
func (s *supervisor) workerStopped(sig unix.Signal) {
	fg, ok := s.tty.foreground()
	if !ok || s.machine.Phase() == Killing {
		return
	}
	switch sig {
	case unix.SIGTTIN, unix.SIGTTOU:
		if fg != s.group && !s.tty.lend(s.group) {
			s.stopAsJob() // in the background, as the worker is
			return
		}
	case unix.SIGTSTP: // Ctrl-Z while the worker has the terminal, or its own doing
		if fg != s.group {
			return
		}
		if s.stopAsJob() {
			return
		}
	default:
		return
	}
	s.continueGroup()
}

// suspend is Ctrl-Z while drainit has the terminal, for a worker that does not
// catch TSTP: both stop, and the shell is back. It reports false where the
// signal means quiet.
func (s *supervisor) suspend() bool {
	if s.gone || !s.tty.ours() || !canStop() || s.machine.Phase() != Running && s.machine.Phase() != Quiet {
		return false
	}
	sig := s.cfg.Rewrites.Apply(unix.SIGTSTP)
	if catchers, err := s.catchers(ModeAuto, sig); err != nil || len(catchers) > 0 || sig != unix.SIGTSTP {
		return false
	}
	if err := reaper.SignalGroup(s.group, unix.SIGTSTP); err != nil {
		return false
	}
	return s.stopAsJob()
}

// stopAsJob stops drainit, as the job of a shell that it is, and continues the
// worker when the shell continues drainit. It reports false where nobody could.
func (s *supervisor) stopAsJob() (stopped bool) {
	if !canStop() {
		return false
	}
	before := s.inbox.continued.Load()
	if err := stopSelf(); err != nil {
		s.log.Warn("cannot stop for the shell: " + err.Error())
		return false
	}
	// The signal that continued drainit is on its way from the runtime.
	const atMost = 100 * time.Millisecond
	for wait := time.Now().Add(atMost); s.inbox.continued.Load() == before; time.Sleep(time.Millisecond) {
		if time.Now().After(wait) {
			return false // the kernel has discarded the stop
		}
	}
	s.resumed++
	if s.tty.lent || s.wantsTerminal() {
		s.tty.lend(s.group) // by fg; after bg it is not drainit's to lend
	}
	s.continueGroup()
	return true
}

// wantsTerminal reports whether the worker is stopped until it has the terminal.
func (s *supervisor) wantsTerminal() bool {
	return s.stopSig == unix.SIGTTIN || s.stopSig == unix.SIGTTOU
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

// stopSelf stops the whole of drainit by TSTP with its default action, and comes
// back when it was continued, or at once where the kernel discards the stop. It
// goes around os/signal, whose Reset leaves the runtime's handler in place; and to
// this thread, which takes it before the call returns.
func stopSelf() error {
	var byDefault, before [4]uint64 // a sigaction is at most 32 bytes on what .ci/run builds for
	if err := sigaction(unix.SIGTSTP, &byDefault, &before); err != nil {
		return err
	}
	err := os.NewSyscallError("tgkill", unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGTSTP))
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

// terminalGone reports whether a HUP says that the terminal has gone, and then
// begins the stop: nobody can see or stop the worker any more.
func (s *supervisor) terminalGone(sig unix.Signal) bool {
	if sig != unix.SIGHUP || !s.tty.gone() {
		return false
	}
	s.log.Info("the terminal is gone: "+forward.Name(sig)+" counts as SIGTERM", s.phase(), text("signal", forward.Name(sig)))
	return true
}
