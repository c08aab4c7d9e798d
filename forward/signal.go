package forward

import (
	"slices"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

// This file has which signal a process is sent.

// actsUpon reports whether a process handles the signal that it would be sent.
func (h *History) actsUpon(m *record) bool { return m.Handles(h.signalFor(m)) }

// signalFor returns the signal that a process is sent. The worker, and each process that handles the stop
// signal, is sent the stop signal, but for launchers and for shells that are not known to have a trap for it:
// a shell ignores QUIT. A process that an interrupted shell waits for (isInterrupted) is sent the stop
// signal, too, unless it is a launcher. Any other process is sent TERM, and so is each that handles TERM and
// not the stop signal, or that INT would end by its runtime's handler.
func (h *History) signalFor(m *record) unix.Signal {
	mayEnd := h.deliver == unix.SIGINT && (m.kind == program.Shell || program.InterruptEnds(&m.Process))
	handles := m.Handles(h.deliver) && !mayEnd
	isSent := m.kind == program.Other || m.kind == program.Shell && h.hasTrapFor(m)
	switch {
	case !handles && m.Handles(unix.SIGTERM) && h.deliver != unix.SIGKILL:
	case h.byKey && m.origin == root, isSent && (handles || m == h.worker),
		m.kind != program.Launcher && h.isInterrupted(m):
		return h.deliver
	}
	return unix.SIGTERM
}

// getsKey reports whether a process is signalled by a key of the terminal (Request.ByKey). What a shell has
// in its background is left to its trap, and what is below a program that is known to pass INT on, to that.
func (h *History) getsKey(m *record) bool {
	for below := m; below.parent != nil; below = below.parent {
		up := below.parent
		passesOn := up.kind == program.Other && program.Signals(&up.Process, unix.SIGINT) > program.NoProcess
		inBackground := up.kind == program.Shell && program.InBackground(&below.Process, &up.Process)
		if inBackground || passesOn && !program.Spreads(&up.Process) {
			return false
		}
	}
	return h.byKey && m.PGID == h.pgid && m.topmost() == h.worker
}

// hasTrapFor claims that a shell has a trap for the stop signal. That a shell handles INT is no proof of a
// trap: it may handle INT to wait for what is in its foreground, or to die. So no shell but the worker is
// sent INT, and that only if it may have a trap for INT, has none for TERM, has not gone on after INT
// (goesOn), and if INT can be sent to each child, too, that may be in its foreground. Wrong of an interactive
// shell without a trap.
func (h *History) hasTrapFor(shell *record) bool {
	if !shell.MasksKnown() || !shell.Handles(h.deliver) {
		return false
	}
	if h.deliver != unix.SIGINT {
		return true
	}
	return program.MayTrap(&shell.Process) && shell == h.worker && !shell.wentOn && !h.mayWaitUnseen(shell)
}

// mayWaitUnseen reports whether a shell may wait for a child that is not to be sent INT. Such a child is a
// launcher in the foreground, or is not known to be in the foreground or the background. If the shell has
// marks (program.HasMarks), a child that was not read in time does not count: the next snapshot shows it.
func (h *History) mayWaitUnseen(shell *record) bool {
	return slices.ContainsFunc(h.shown.Children(shell.PID), func(p *proc.Process) bool {
		isKnown := program.InBackground(p, &shell.Process) ||
			program.InForeground(h.shown, p, &shell.Process) && program.Of(p) != program.Launcher
		return !isKnown && (p.Exe != "" || !program.HasMarks(&shell.Process))
	})
}

// goesOn claims that INT has not ended a shell: it has started a program anew, and that handles the signal.
// bash does so in a loop if the program exits. Wrong if its trap for INT has started it.
func (h *History) goesOn(m *record) bool {
	return m.isShellOnINT() && slices.ContainsFunc(h.shown.Children(m.PID), func(p *proc.Process) bool {
		child := h.living[p.PID]
		isAnew := func(was *record) bool {
			return was.parent == m && was != child && slices.Equal(was.Args, child.Args)
		}
		return child != nil && len(child.Args) > 0 && h.actsUpon(child) && h.anySent(isAnew)
	})
}

// isInterrupted claims that a shell that was sent INT waits for m in its foreground. A terminal would send
// INT to both, and by how m ends the shell knows whether to go on.
func (h *History) isInterrupted(m *record) bool {
	up := m.parent
	if up == nil || !up.isShellOnINT() || !h.alive(up) {
		return false
	}
	waits := program.WaitingOf(&up.Process) != program.NotWaiting
	return waits && program.InForeground(h.shown, &m.Process, &up.Process)
}

// isShellOnINT reports whether a process is a shell that was sent INT.
func (m *record) isShellOnINT() bool {
	return m.kind == program.Shell && m.sent != nil && m.sent.signal == unix.SIGINT
}
