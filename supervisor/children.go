package supervisor

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
	"drainit/internal/proc"
	"drainit/reaper"
)

// reapBatch bounds the children waited for between two looks at the signals.
const reapBatch = 256

// reap waits for the children that have changed and tells the machine at the
// end, when it is known whether any is left.
func (s *supervisor) reap() {
	var events []Event
	for range reapBatch {
		c, ok, err := reaper.Wait()
		switch {
		case errors.Is(err, reaper.ErrNoChildren):
			s.step(time.Now(), Event{Kind: NothingLeft})
			return
		case err != nil:
			s.log.Error("cannot wait for children: " + err.Error())
			s.stepAll(events)
			return
		case !ok:
			s.stepAll(events)
			return
		}
		// That others have ended is news once, however many there are.
		if e, ok := s.changed(c); ok && !(e.Kind == ChildExited && slices.Contains(events, e)) {
			events = append(events, e)
		}
	}
	s.stepAll(events)
	select {
	case s.inbox.child <- unix.SIGCHLD: // the rest next time
	default:
	}
}

func (s *supervisor) stepAll(events []Event) {
	for _, e := range events {
		s.step(time.Now(), e)
	}
	if s.gone && s.tty.lent { // what is left behind drains without it
		s.returnTerminal()
	}
}

// changed notes what became of one child. ok is false where the machine need
// not know.
func (s *supervisor) changed(c reaper.Change) (e Event, ok bool) {
	if !c.Gone() {
		s.stopped[c.PID] = c.Status.Stopped()
		if c.Status.Stopped() && c.Status.StopSignal() == unix.SIGTSTP && s.unfreeze(c.PID) {
			return Event{}, false
		}
		if c.PID == s.worker && !s.gone && c.Status.Stopped() && s.tty.exists() {
			s.stopSig = c.Status.StopSignal()
			s.workerStopped()
		}
		return Event{}, false
	}
	delete(s.stopped, c.PID)
	if s.cascade != nil {
		s.cascade.Died(c.PID, c.DiedOf())
	}
	if c.PID != s.worker || s.gone {
		s.logReaped(c)
		return Event{Kind: ChildExited}, true
	}
	s.stopSig = 0
	s.gone, s.status, s.signaled, s.ended = true, c.ExitStatus(), c.Status.Signaled(), time.Now()
	s.noteInterrupt()
	s.logDeath(c)
	if s.daemon = s.daemonized(); s.daemon {
		return Event{}, false
	}
	return Event{Kind: WorkerExited}, true
}

// daemonized reports whether a worker that has exited runs on in what it left,
// by --forking. As long as that lives, drainit stays in its phase.
func (s *supervisor) daemonized() bool {
	if now := s.machine.Phase(); !s.cfg.Forking || s.status != 0 || now != phase.Running && now != phase.Quiet {
		return false
	}
	t, err := proc.ReadTree()
	if err != nil {
		s.log.Warn("cannot see what the worker left, which --forking asks for: " + err.Error())
		return false
	}
	// A look may miss one that is just being forked. wait4 knows: where nothing is
	// left, it says so next.
	if left := t.Children(os.Getpid()); len(left) > 0 {
		s.announceDaemonized(left)
	}
	return true
}

// exitStatus is the worker's, but never 0 where a stop was asked for and
// something had to be killed.
func (s *supervisor) exitStatus() int {
	if !s.gone {
		return statusKilled
	}
	if _, asked := s.machine.Asked(); asked && s.killing && s.remap(s.status) == 0 {
		return statusKilled
	}
	return s.status
}

func (s *supervisor) remap(status int) int {
	if slices.Contains(s.cfg.RemapExit, status) {
		return 0
	}
	return status
}
