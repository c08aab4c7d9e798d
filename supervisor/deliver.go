package supervisor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

// signalWorker sends a signal to the worker unless it has been waited for.
func (s *supervisor) signalWorker(sig unix.Signal) error {
	if s.gone {
		return reaper.ErrGone
	}
	s.sent |= signals.SetOf(sig)
	err := reaper.SignalChild(s.worker, sig)
	if err != nil {
		s.warnRefused(s.workerProcess(), sig, err)
	}
	return err
}

func (s *supervisor) signalGroup(sig unix.Signal) {
	if s.gone {
		return
	}
	s.sent |= signals.SetOf(sig)
	group := s.worker
	if p := s.workerProcess(); p.PGID == s.group { // an heir may be in the first worker's
		group = s.group
	}
	if err := reaper.SignalGroup(group, sig); errors.Is(err, reaper.ErrGone) {
		_ = s.signalWorker(sig) // it has left the group it was given
	} else if err != nil {
		s.warnRefused(s.workerProcess(), sig, err)
	}
}

// signal sends a signal to any process below drainit, as a look of the same
// action showed it: a child of drainit has then not been waited for since, and its
// pid is its own. What fails has been warned of, where a warning helps.
func (s *supervisor) signal(p proc.Process, sig unix.Signal) error {
	if p.PID == s.worker && !s.gone { // once it has gone, another may have its pid
		return s.signalWorker(sig)
	}
	var err error
	if p.PPID == os.Getpid() {
		err = reaper.SignalChild(p.PID, sig)
	} else {
		err = reaper.Signal(p.ID, sig)
	}
	if err != nil {
		s.warnRefused(p, sig, err)
	}
	return err
}

// warnRefused warns, once for each process, of one that may not be signalled.
func (s *supervisor) warnRefused(p proc.Process, sig unix.Signal, err error) {
	if errors.Is(err, reaper.ErrGone) || s.refused[p.ID] {
		return
	}
	s.refused[p.ID] = true
	hint := ""
	if errors.Is(err, unix.EPERM) {
		hint = "; it runs as another user, give drainit CAP_KILL or start it as that user"
	}
	s.log.Warn(fmt.Sprintf("cannot send %s to %s: %v%s", signals.Name(sig), logx.Name(p), err, hint),
		logx.Text("signal", signals.Name(sig)), logx.Number("pid", p.PID), logx.Text("comm", p.Comm))
}

// workerProcess is the worker as /proc shows it, or what is known without.
func (s *supervisor) workerProcess() proc.Process {
	if !s.gone {
		if p, err := proc.ReadProcess(s.worker); err == nil {
			s.name = p.Comm
			return p
		}
	}
	return proc.Process{ID: proc.ID{PID: s.worker}, Comm: s.name}
}
