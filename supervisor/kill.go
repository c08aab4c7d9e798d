package supervisor

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/journal"
	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// kill is what SIGKILL was sent to, and what may ask for it.
type kill struct {
	journal.Kill
	nextLook time.Time // for a drainit stop --force
}

// notForced is a stop signal that is no force-stop, unless it came of drainit stop --force:
// that says so by its name, for a signal alone can't. One that was delayed, as on a busy
// machine, is then taken for the same request as the first.
func (s *Supervisor) notForced(now time.Time, a machine.Action) (next machine.Event, ok bool) {
	if s.forceAsked() {
		return machine.Event{Kind: machine.ForceAsked}, true
	}
	s.announce(now, a)
	return machine.Event{}, false
}

// forceAsked reports whether drainit stop --force runs. It sends more than one signal: not
// each of them need be asked about.
func (s *Supervisor) forceAsked() bool {
	const share = 4 // of the time of one look, between two
	began := time.Now()
	if began.Before(s.killed.nextLook) {
		return false
	}
	all, err := s.sys.All()
	now := time.Now()
	s.killed.nextLook = now.Add(share * now.Sub(began))
	name := title.Force(os.Getpid())
	asks := func(p *proc.Process) bool { return p.Comm == name }
	return err == nil && slices.ContainsFunc(all.All(), asks)
}

func (s *Supervisor) killTree() {
	defer s.bound(time.Now(), false)
	worker := proc.Process{}
	if !s.worker.Gone() {
		worker = s.worker.Process()
	}
	_, err := s.deliver([]forward.Delivery{{Target: forward.ToTree, Process: worker, Signal: unix.SIGKILL}})
	if err != nil && s.journal.Once("kill refused") { // one pass after the other would say so
		s.journal.Log.Warn(err.Error())
	}
}
