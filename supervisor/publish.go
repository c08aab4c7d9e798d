package supervisor

import (
	"sync/atomic"
	"time"

	"drainit/internal/health"
	"drainit/internal/journal"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// published is what probes and the subcommands read.
type published struct {
	ready     atomic.Uint32 // what awaitReady tells the loop
	health    health.State
	title     string
	quiet     title.Quiet
	stopBegan time.Time // the beginning of the stop, as drainit status shows it
}

// What awaitReady tells the loop: nothing, that it is time for a line in the log because the worker is not
// ready, or that the worker is ready.
const (
	notReady uint32 = iota
	overdue
	isReady
)

// awaitReady waits until the worker is ready, and tells the loop, which publishes it. If that takes longer
// than usual, it tells the loop that, too. It gives up when the drain begins.
func (s *Supervisor) awaitReady() {
	const usual = 30 * time.Second
	late := time.AfterFunc(usual, func() {
		s.public.ready.CompareAndSwap(notReady, overdue)
		s.queue.Wake()
	})
	defer late.Stop()
	wait := time.Second / 10
	for ; s.public.health.Load().Phase <= machine.Quiet; wait = min(2*wait, time.Second) {
		if health.Accepts(s.cfg.ReadyPort) {
			s.public.ready.Store(isReady)
			s.queue.Wake()
			return
		}
		time.Sleep(wait)
	}
}

// noteReady publishes that the worker is ready, or logs that it is not ready yet.
func (s *Supervisor) noteReady() {
	after := logx.Round(time.Since(s.worker.Began))
	if s.public.ready.CompareAndSwap(overdue, notReady) {
		s.journal.Once(journal.NotReady, after, s.cfg.ReadyPort)
		return
	}
	s.machine.Ready()
	s.publish()
	if s.journal.Said(journal.NotReady, nil) {
		s.journal.Say(journal.ReadyAtLast, after)
	}
}

// publish sets what probes are answered, and sets the title if it has changed.
func (s *Supervisor) publish() {
	now := title.State{
		Phase: s.machine.Phase(), WorkerAlive: s.worker.Alive(), WorkerStopped: s.worker.Stopped,
		Quiet: s.public.quiet,
	}
	s.public.health.Store(&now)
	if text := title.Of(now); text != "" && text != s.public.title {
		s.public.title = text
		title.Set(text)
	}
}

// publishStop tells drainit status of a stop that has begun, by a request or by the worker's end.
func (s *Supervisor) publishStop() {
	if began := s.journal.StopBegan(); began != s.public.stopBegan {
		s.public.stopBegan = began
		s.journal.Publish(title.Stopping, s.stop())
	}
}

// stop returns the signal and the times of a stop that has begun, for drainit status.
func (s *Supervisor) stop() title.Stop {
	since := s.journal.StopBegan()
	stop := title.Stop{Signal: s.machine.StopSignal(), Sends: s.sends, Grace: machine.Forever}
	stop.Since = proc.SinceBoot() - time.Since(since)
	if end, ok := s.machine.GraceEnd(); ok {
		stop.Grace = end.Sub(since)
	}
	return stop
}
