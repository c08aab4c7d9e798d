package stress

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// killedInVain: no process is killed before the time. With --forward worker that is when the
// worker has ended.
func (m *chaosModel) killedInVain() (wrong []string) {
	if m.mayKill() {
		return nil
	}
	_, ended := m.begun()
	for _, l := range m.victims() {
		if m.plan.mode == "worker" && ended && (m.plan.shell || l.node != 0) {
			continue
		}
		wrong = append(wrong, fmt.Sprintf("n%d was killed, and it was not the time", l.node))
	}
	return wrong
}

// notSent: a worker that lives when the stop comes is signalled, and every child of
// drainit when the last quarter of the grace begins, but for those that ignore or block the
// signal; unless drainit was kept waiting.
func (m *chaosModel) notSent() (wrong []string) {
	const onTime = 100 * time.Millisecond
	first, asked := m.firstStop()
	late := m.ended - first.at - m.plan.grace
	if !asked || m.mayForce() || m.plan.grace < 2*time.Second || m.waited() > onTime || late < 0 || late > onTime {
		return nil
	}
	signalled := m.signalled()
	for _, l := range m.victims() {
		switch {
		case l.stops || signalled[l.pid] > 0 || m.forkedMeanwhile(l) || !slices.Contains([]string{"catch", ""}, m.does(l, unix.SIGTERM)):
		case l.node == 0 && !m.plan.shell:
			wrong = append(wrong, "the worker was not signalled")
		case m.plan.mode != "worker" && m.childBefore(l, first.at+m.plan.grace*3/4):
			wrong = append(wrong, fmt.Sprintf("n%d was drainit's child, and not signalled before it was killed", l.node))
		}
	}
	return wrong
}

// forkedMeanwhile reports whether a process that handles TERM was forked in the second
// after its group was signalled, and so counts as signalled with it.
func (m *chaosModel) forkedMeanwhile(l *chaosLife) bool {
	first, _ := m.firstStop()
	return m.plan.mode == "group" && l.born > first.at && l.born < first.at+time.Second+m.slack() && m.does(l, unix.SIGTERM) == "catch"
}

// childBefore reports whether a process was seen as a child of drainit before a time.
func (m *chaosModel) childBefore(l *chaosLife, at time.Duration) bool {
	return slices.ContainsFunc(m.seen.adopted[l.pid], func(t time.Duration) bool { return t < at })
}

// chaosModel says what a round may have come to, from the plan, from when what
// was sent, and from what the processes say. It knows nothing of how drainit
// decides. Where two things happened at once it allows what either order gives.
type chaosModel struct {
	*chaosRun
	lives map[int]*chaosLife
}

// sameTime bounds how far apart two signals can be that drainit may take in
// either order, or as one: the Go runtime hands out the lower number first.
const sameTime = 200 * time.Millisecond

func (m *chaosModel) worker() *chaosLife {
	if l := m.lives[0]; l != nil {
		return l
	}
	return &chaosLife{}
}

// does is what a process does with a signal: catch, ignore, block, or nothing.
func (m *chaosModel) does(l *chaosLife, sig syscall.Signal) string {
	how := m.plan.nodes[l.node].does[unix.SignalName(sig)[len("SIG"):]]
	if how == "catch" && l.execs {
		return "" // or it did when the signal came
	}
	return how
}

func (m *chaosModel) times(sig syscall.Signal) (n int) {
	for _, s := range m.sent {
		if s.sig == sig {
			n += s.number
		}
	}
	return n
}

// firstStop is the first stop signal that was sent.
func (m *chaosModel) firstStop() (chaosSent, bool) {
	for _, s := range m.sent {
		if isStop(s.sig) && s.at < m.ended {
			return s, true
		}
	}
	return chaosSent{}, false
}

// mayTell reports whether drainit may take a signal for the first stop signal: it
// is, or came at the same time, or while drainit was stopped.
func (m *chaosModel) mayTell(sig syscall.Signal) bool {
	first, ok := m.firstStop()
	return ok && slices.ContainsFunc(m.sent, func(s chaosSent) bool {
		return s.sig == sig && s.at <= m.thawed(first.at)+sameTime+m.waited()
	})
}

// thawed is when drainit was not stopped any more, at or after a time.
func (m *chaosModel) thawed(at time.Duration) time.Duration {
	for _, f := range m.frozen {
		if f.from-sameTime <= at && at <= f.to+sameTime {
			at = max(at, f.to)
		}
	}
	return at
}

// waited is for how long drainit waited for a processor, or if it is longer this test's own
// process at once, as a part of the tree may have, too.
func (m *chaosModel) waited() time.Duration { return max(m.seen.kept, m.seen.stall) }

// slack is for how long drainit or the tree did not run: drainit was stopped, or the machine
// was busy with others.
func (m *chaosModel) slack() time.Duration {
	const stalls = 10
	sum := m.seen.kept + stalls*m.seen.stall
	for _, f := range m.frozen {
		sum += f.to - f.from
	}
	return sum
}

// mayForce reports whether drainit may take one stop signal for a second request:
// it comes 100 ms after the first; or less, where drainit may be late to see one of
// the two.
func (m *chaosModel) mayForce() bool {
	const sure = 20 * time.Millisecond
	late := len(m.frozen) > 0 || m.seen.stall > sure
	first, ok := m.firstStop()
	return ok && slices.ContainsFunc(m.sent, func(s chaosSent) bool {
		another := s.at > first.at || s.number > 1
		return isStop(s.sig) && another && (late || s.at-first.at > sure)
	})
}

// mayKill reports whether drainit may have sent SIGKILL: it was forced, or the
// grace was over that began by the stop signal or by the end of the worker.
func (m *chaosModel) mayKill() bool {
	if m.mayForce() {
		return true
	}
	begun, ok := m.begun()
	return ok && m.ended-begun >= m.plan.grace
}

// begun is the earliest that a drain can have begun: by a stop signal, or by the
// end of the worker.
func (m *chaosModel) begun() (at time.Duration, ok bool) {
	var all []time.Duration
	if first, ok := m.firstStop(); ok {
		all = append(all, first.at)
	}
	if worker := m.worker(); worker.ends > 0 {
		all = append(all, worker.ends)
	}
	for _, s := range m.sent {
		if s.sig == unix.SIGHUP && m.mayDieOfHUP() {
			all = append(all, s.at)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return slices.Min(all), true
}

// mayDieOfHUP reports whether a HUP that was passed on may have ended the worker,
// as it does where no process handles it. In mode auto none goes to both.
func (m *chaosModel) mayDieOfHUP() bool {
	worker := m.worker()
	isHUP := func(sig syscall.Signal) bool { return sig == unix.SIGHUP }
	for _, l := range m.lives {
		if m.plan.mode == "auto" && m.times(unix.SIGHUP) == 1 && len(l.from(m.drainitPid(), isHUP)) > 0 {
			return false
		}
	}
	return m.times(unix.SIGHUP) > 0 && (m.plan.shell || worker.ends == 0 && m.does(worker, unix.SIGHUP) == "")
}

// workerLived is until when the worker surely lived.
func (m *chaosModel) workerLived() time.Duration {
	worker, until := m.worker(), m.ended
	if worker.ends > 0 {
		return worker.ends
	}
	for _, s := range m.sent {
		if (isStop(s.sig) || s.sig == unix.SIGHUP) && m.does(worker, s.sig) == "" {
			until = min(until, s.at)
		}
	}
	return until
}

// stopsAfter reports whether no stop signal came before a time.
func (m *chaosModel) stopsAfter(at time.Duration) bool {
	first, asked := m.firstStop()
	return !asked || first.at > at
}

// victims are the processes that nothing but SIGKILL can have ended.
func (m *chaosModel) victims() (all []*chaosLife) {
	for _, l := range m.lives {
		open := l.execs || l.pid == 0
		for _, sig := range []syscall.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP} {
			open = open || m.does(l, sig) == ""
		}
		if l.ends == 0 && !open {
			all = append(all, l)
		}
	}
	return all
}
