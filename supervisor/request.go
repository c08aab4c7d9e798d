package supervisor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
)

// mode returns which processes get a signal: Config.Mode, but for two cases of ModeNone, by which the
// platform signals each process. A signal that is no step of a stop goes by ModeAuto. So does what a worker
// has left that ended by itself, but a second later: the platform's stop signal may have ended the worker,
// and be about to arrive here.
func (s *Supervisor) mode(p forward.Purpose) forward.Mode {
	const onItsWay = time.Second
	byItself := !s.machine.Requested() && s.worker.Gone() && time.Since(s.worker.Exit.At) >= onItsWay
	if s.cfg.Mode == forward.ModeNone && (!p.OfStop() || byItself) {
		return forward.ModeAuto
	}
	return s.cfg.Mode
}

// How long a snapshot may take. Stop signals that come meanwhile wait. firstRead is the shorter one, because
// the first stop signal goes to the worker only after the snapshot.
const (
	firstRead = 50 * time.Millisecond
	laterRead = 250 * time.Millisecond
)

// requestFor returns the request to package forward for a signal, after the rewrite. all is the snapshot that
// the plan of the request needs. It is nil if the plan needs none, or if /proc cannot be read, and then err
// says why. It has only the worker if the signal is no stop signal and the worker handles it, except in
// ModeGroup.
func (s *Supervisor) requestFor(p forward.Purpose, sig unix.Signal) (
	r forward.Request, all *proc.Snapshot, err error,
) {
	left := s.cfg.Grace
	if end, ok := s.machine.GraceEnd(); ok {
		left = time.Until(end)
	}
	r = s.cfg.Request(p, sig, s.sys.Ticks(), left)
	r.Mode, r.ByKey = s.mode(p), s.job != nil && r.Signal == unix.SIGINT
	if !s.history.NeedsTree(r) {
		return r, nil, nil
	}
	if !p.OfStop() && r.Mode != forward.ModeGroup && !s.worker.Gone() {
		if w, err := s.sys.Process(s.worker.PID); err == nil && w.Handles(r.Signal) {
			s.keepName(w)
			return r, proc.New([]proc.Process{w}), nil
		}
	}
	within := laterRead
	if p == forward.Stop {
		within = firstRead
	}
	defer s.noteCost(time.Now())
	all, err = s.sys.Tree(os.Getpid(), s.history.Start, within)
	w, _ := all.Process(s.worker.PID)
	s.keepName(w)
	return r, all, err
}

// noteCost tells the machine how long a read of /proc took.
func (s *Supervisor) noteCost(began time.Time) {
	now := time.Now()
	s.machine.SnapshotTook(now, now.Sub(began))
}

// readWorker reads the worker's stat, and keeps its name, which may have changed.
func (s *Supervisor) readWorker() (proc.Process, error) {
	p, err := s.sys.Read(s.worker.PID)
	s.keepName(p)
	return p, err
}

func (s *Supervisor) keepName(p proc.Process) {
	if s.worker.Is(p.PID) && p.Comm != "" {
		s.worker.Comm = p.Comm
	}
}
