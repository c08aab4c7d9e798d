package supervisor

import (
	"os"
	"sync/atomic"
	"time"

	"drainit/internal/health"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// published is what probes and the subcommands read.
type published struct {
	ready     atomic.Uint32 // what awaitReady has for the loop
	health    health.State
	title     string
	unhandled bool // no process handled the last quiet signal
}

// What awaitReady has for the loop: nothing yet, a line that the worker is not ready, or that it is.
const (
	notReady uint32 = iota
	overdue
	isReady
)

// awaitReady has the loop publish that the worker is ready, once it is, and say so where that takes long. It ends with
// that, or with the worker.
func (s *Supervisor) awaitReady() {
	const usual = 30 * time.Second
	late := time.AfterFunc(usual, func() {
		s.public.ready.CompareAndSwap(notReady, overdue)
		s.queue.Wake()
	})
	defer late.Stop()
	for wait := time.Second / 10; s.public.health.Load().Phase <= machine.Quiet; wait = min(2*wait, time.Second) {
		if s.cfg.Ready.Holds() {
			s.public.ready.Store(isReady)
			s.queue.Wake()
			return
		}
		time.Sleep(wait)
	}
}

// noteReady publishes that the worker is ready, or says that it is not.
func (s *Supervisor) noteReady() {
	if s.public.ready.CompareAndSwap(overdue, notReady) {
		s.journal.NotReady(time.Since(s.worker.Began), s.cfg.Ready)
		return
	}
	s.publish()
	s.journal.Ready(time.Since(s.worker.Began))
}

// publish sets the answers of probes, and the title if it has changed.
func (s *Supervisor) publish() {
	is := s.machine.Phase()
	if is == machine.Running && s.public.ready.Load() != isReady {
		is = machine.Starting
	}
	now := title.State{Phase: is, WorkerAlive: s.worker.Alive(), WorkerStopped: s.worker.Stopped, QuietUnhandled: s.public.unhandled}
	s.public.health.Store(&now)
	if text := title.Of(now); text != "" && text != s.public.title {
		s.public.title = text
		title.Set(text)
	}
}

// publishStop publishes the times of a stop that begins, for drainit status.
func (s *Supervisor) publishStop() {
	since := s.journal.StopBegan()
	stop := title.Stop{Signal: s.machine.StopSignal(), Since: proc.SinceBoot() - time.Since(since), Grace: machine.Forever}
	if end, ok := s.machine.GraceEnd(); ok {
		stop.Grace = end.Sub(since)
	}
	title.SetThread(proc.SecondThread(os.Getpid()), stop.String())
}
