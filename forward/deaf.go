package forward

import (
	"slices"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// This file has which processes pass nothing on, though the stop signal has reached them. Each conclusion is
// a claim, as in evidence.go.

// deafness says that a process passes nothing on to its children, or to some of them, though the signal
// reached it some time ago.
type deafness struct {
	why     reason          // why it passes nothing on
	to      []*proc.Process // the children that a shell waits for, nil for all
	certain bool            // neither the process nor one that signalled it has signalled them
}

// deafness claims that a process passes nothing on, and returns why. It does not act upon the signal
// (deafFor), or it is a shell that waits for a child first. This is certain only if drainit has signalled the
// process: if it was left alone, another process may have signalled it and its children. deafness returns nil
// if the process may act, or has had no time to. One that drainit has not signalled had time if the last
// verdict was that another may have signalled it, or that it may end by itself.
func (h *History) deafness(m *record) *deafness {
	hadTime := m.fate == inDoubt || m.fate == ends
	if m.sent != nil {
		hadTime = h.now >= m.sent.tick+actsAfter
	}
	if !hadTime {
		return nil
	}
	if words := h.deafFor(m); words != "" {
		return &deafness{why: reason{words, m}, certain: m.sent != nil}
	}
	if m.kind != program.Shell {
		return nil
	}
	these, certain := h.blockingTrap(m)
	if len(these) == 0 {
		return nil
	}
	return &deafness{why: reason{"%s above waits for it", m}, to: these, certain: certain && m.sent != nil}
}

// notActing reports whether a process may fail to act upon the signal that has reached it. A process that
// blocks the signal has taken it unless the signal is pending. A shell may always fail to act.
func (h *History) notActing(m *record) bool {
	sig := h.reached(m)
	taken := m.sent != nil && m.Blocked.Has(sig)
	passesNothingOn := m.kind == program.Shell || program.PassesNothingOn(&m.Process)
	return !h.handled(m) && !taken || passesNothingOn || m.Pending.Has(sig)
}

// deafFor returns why a process does not act upon what reached it some time ago, and "" if it may. A
// process that had a handler in any snapshot may have forwarded the signal, or may take a pending one later.
// So it is deaf only if it is a launcher that is known to pass nothing on.
//
// A pending signal counts if the process sleeps in the same call as in its first snapshot, and waits for a
// child there: no signal that it blocks ends that wait. If it sleeps there for another reason, the signal
// counts after two seconds, as the process may look for it now and then (sigpending(2)). It also counts after
// two seconds in state D: the process may hang in the kernel.
func (h *History) deafFor(m *record) string {
	sig, since := h.reached(m), m.adopted
	hadHandler := m.everHandled.Has(sig)
	if m.sent != nil {
		since = m.sent.tick
	}
	hasSlept := h.now >= since+2*aSecond
	sleepsOn := m.Call.Sleeps && m.Call == m.firstCall && (m.WaitsForChild() || hasSlept)
	hangs := m.State == 'D' && hasSlept
	switch {
	case m.Pending.Has(sig) && !hadHandler && (sleepsOn || hangs):
		return "%s above has not taken it"
	case m.alwaysIgnored.Has(sig):
		return "%s above ignores it"
	case program.PassesNothingOn(&m.Process):
		return "%s above passes nothing on"
	case m.NestedInit && !hadHandler:
		return "%s above is the first of a PID namespace and has no handler"
	}
	return ""
}

// blockingTrap returns the children (these) that a shell waits for before it can run its trap, none if its
// trap can run. certain says that it surely waits for them. It is true for a child that is surely in the
// foreground (program.InForeground), and for dash and busybox in wait4(2) (program.Waits). It is false once a
// child has gone. That may have been the one in the foreground, or the one whose marks set the others apart.
// Any other shell counts as waiting while it has all its children and none of them was signalled: its trap
// may signal one after the other. False: the shell has started a process since, so its trap runs.
func (h *History) blockingTrap(shell *record) (these []*proc.Process, certain bool) {
	children := h.shown.Children(shell.PID)
	if h.hasStarted(shell) || program.WaitingOf(&shell.Process) == program.NotWaiting {
		return nil, false
	}
	for _, p := range children {
		if !shell.lostChild && program.InForeground(h.shown, p, &shell.Process) {
			these = append(these, p)
		}
	}
	waits := shell.waitsFor()
	mayWait := waits == program.MayWait
	runs := waits == program.NotWaiting || mayWait && (shell.lostChild || !shell.firstCall.Sleeps)
	for _, p := range children {
		runs = runs || mayWait && !p.Untouched && !h.wouldBeDead(h.living[p.PID])
	}
	if len(these) == 1 || runs {
		return these, true
	}
	these = slices.DeleteFunc(program.Foreground(h.shown, children), func(p *proc.Process) bool {
		return program.InBackground(p, &shell.Process)
	})
	return these, waits == program.Waits && !shell.lostChild
}

// hasStarted reports whether a process has started another in the stop.
func (h *History) hasStarted(m *record) bool {
	return slices.ContainsFunc(h.shown.Children(m.PID), func(p *proc.Process) bool {
		child := h.living[p.PID]
		return child == nil || child.first > 1
	})
}

// waitsFor returns how surely a shell still waits for the command that it waited for at first. Its stack is
// the same as long as it waits for one command. The stack is mostly another once a trap has run: the shell
// waits for the next command from another depth, or from within its trap.
func (m *record) waitsFor() program.Waiting {
	waits := program.WaitingOf(&m.Process)
	if waits == program.MayWait && m.Call.Stack != m.firstCall.Stack {
		return program.NotWaiting
	}
	return waits
}

// mayPassOn reports whether the process up may have acted upon the signal, and so have signalled child. A
// shell with a trap may have if it has started a process in the stop, or waits for no command. If it may wait
// for a command, it may have signalled only a child in its background.
func (h *History) mayPassOn(up, child *record) bool {
	switch {
	case !up.hasTrap():
		return !h.notActing(up)
	case h.hasStarted(up):
		return true
	case up.waitsFor() == program.MayWait:
		return program.InBackground(&child.Process, &up.Process)
	}
	return up.waitsFor() == program.NotWaiting
}

// noteDeaf notes that a process is deaf, so that its children can be signalled. A process below a deaf one
// counts as deaf, too, if it does not act upon the signal and was not signalled. A shell that was signalled
// and waits for a child first is also added to the blocked traps.
func (s *step) noteDeaf(m *record) {
	own, above := s.deafness(m), s.deafAbove(m)
	switch {
	case own != nil:
		s.deaf[m] = own
		// A child without a handler may end within moments, and is given a second.
		if own.to != nil && m.sent != nil {
			if child := own.to[0]; child.Handles(m.sent.signal) || s.now >= m.sent.tick+aSecond {
				s.BlockedTraps = append(s.BlockedTraps, BlockedTrap{m.Process, *child})
			}
		}
	case above != nil && m.sent == nil && !s.shown.HasWriters(m.PID) && !s.actsUpon(m):
		s.deaf[m] = &deafness{why: above.why, certain: above.certain}
	}
}

// deafAbove returns the deafness of the parent of m, and nil if that is not deaf or does not wait for m. m is
// signalled because of it if m handles the signal.
func (s *step) deafAbove(m *record) *deafness {
	d := s.deaf[s.living[m.PPID]]
	isIt := func(p *proc.Process) bool { return p.PID == m.PID }
	if d != nil && d.to != nil && !slices.ContainsFunc(d.to, isIt) {
		return nil
	}
	return d
}
