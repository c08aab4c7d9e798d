package supervisor

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// StatusInterrupted is what Run returns where drainit is to end by INT itself:
// 130 for exit(2), which takes the lowest eight bits.
//
// A shell ends a loop or a script by Ctrl-C where it sees that its child died of
// INT, and goes on where the child exited, with whatever status ("Exit Status" and
// "Signals" in bash(1)).
const StatusInterrupted = 1<<8 | (128 + int(unix.SIGINT))

// EndByInterrupt ends drainit by INT. It is the last thing to do: it comes back
// only where the kernel discards the signal.
func EndByInterrupt() {
	if _, err := setAction(unix.SIGINT, byDefault); err == nil {
		_ = unix.Tgkill(os.Getpid(), unix.Gettid(), unix.SIGINT) // taken before the call returns
	}
}

// noteInterrupt notes a worker that has died of Ctrl-C: of the signal that drainit
// sent it for its own INT, or of the key itself.
func (s *supervisor) noteInterrupt() {
	s.interrupted = false
	if !s.signaled || !s.isJob() {
		return
	}
	sig := unix.Signal(s.status - 128)
	if s.stopSignal == unix.SIGINT {
		s.interrupted = s.sent.Has(sig) && (sig == s.stopWith || sig == unix.SIGTERM) // TERM is for a shell
		return
	}
	fg, _ := s.tty.foreground()
	if s.stopSignal == 0 && sig == unix.SIGINT && s.tty.lent && fg == s.group {
		s.interrupted, s.unshared = true, true
	}
}

// shareInterrupt sends INT to drainit's process group where the key has reached
// only the worker's: the script that drainit is a part of would go on.
func (s *supervisor) shareInterrupt() {
	if s.unshared {
		_ = unix.Kill(0, unix.SIGINT)
	}
}

// ending is what Run returns: StatusInterrupted, or the exit status.
func (s *supervisor) ending() int {
	asked := func(status int) bool { return slices.Contains(s.cfg.RemapExit, status) }
	if s.gone && s.interrupted && !asked(s.status) && !asked(StatusInterrupted&0xff) {
		return StatusInterrupted
	}
	return s.remap(s.exitStatus())
}

// isJob reports whether drainit is, or may be, the job of a shell.
func (s *supervisor) isJob() bool { return s.tty.exists() && os.Getpid() != 1 }
