package test

import (
	"fmt"
	"slices"
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
	if !asked || m.mayForce() || m.plan.grace < 2*time.Second || m.seen.stall > onTime || late < 0 || late > onTime {
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

// late: everything is gone by the grace and 5 s, and drainit is gone as soon as
// nothing is left.
func (m *chaosModel) late() (wrong []string) {
	const atMost, atOnce = 5 * time.Second, time.Second
	if first, ok := m.firstStop(); ok && m.ended-first.at > m.plan.grace+atMost+m.slack() {
		wrong = append(wrong, fmt.Sprintf("ended %v after the first stop signal", m.ended-first.at))
	}
	var last time.Duration
	for _, l := range m.lives {
		if l.ends == 0 {
			return wrong
		}
		last = max(last, l.ends)
	}
	if m.ended-last > atOnce+m.slack() {
		wrong = append(wrong, fmt.Sprintf("ended %v after the last process", m.ended-last))
	}
	return wrong
}
