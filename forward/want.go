package forward

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Want is what a plan for the request needs to be seen. needed is false where it needs
// nothing. Until bounds the time for processes that seem to wait for a signal.
func (l *Ledger) Want(r Request, until time.Time) (w proc.Want, needed bool) {
	if l.begun && (r.Purpose == Orphans || r.Purpose == LastCall) {
		r.Signal = l.deliver // whatever came since
	}
	w = proc.Want{Signals: []unix.Signal{r.Signal}, Until: until}
	switch r.Purpose {
	case Stop, Orphans, LastCall:
		w.Signals = stopSignals(r.Signal)
		return l.wantOfStop(r, w)
	case Resume:
		return w, false
	}
	mode := r.mode()
	switch {
	case r.Worker.Gone && (r.Purpose == Quiet || r.Worker.Daemonizes):
		w.Nearest = l.self
		return w, true
	case r.Worker.Gone:
		return w, false
	case mode == ModeAuto:
		w.EnoughIf, w.Nearest = r.Worker.PID, r.Worker.PID
	case mode == ModeWorker:
		w.Only = r.Worker.PID
		return w, signals.StopsByDefault(r.Signal)
	case signals.StopsByDefault(r.Signal):
		w.Group = r.Worker.PID
	default: // which group the worker is in
		w.Only, w.Signals = r.Worker.PID, nil
	}
	return w, true
}

// stopSignals are those of which a stop asks who handles them: it, and what shells and
// launchers are sent.
func stopSignals(sig unix.Signal) []unix.Signal {
	if sig == unix.SIGTERM {
		return []unix.Signal{sig}
	}
	return []unix.Signal{sig, unix.SIGTERM}
}

// wantOfStop is what a stop needs, which wants much: the dead can't be asked.
func (l *Ledger) wantOfStop(r Request, w proc.Want) (proc.Want, bool) {
	w.Parents = l.self
	if r.Mode == ModeWorker {
		return w, r.Purpose == Stop && r.Worker.Gone
	}
	if r.Purpose == Stop || !l.begun {
		w.Chain = r.Worker.PID // that one may be the successor
		w.ReadsPipe = l.readersBelow(r.Signal, r.Worker, nil, func(p proc.Process) bool {
			return p.PID == r.Worker.PID || r.Worker.Gone && p.PPID == l.self || r.Mode == ModeGroup && p.PGID == r.Worker.PGID
		})
		return w, true
	}
	w.Settled = func(id proc.ID) bool { m := l.records[id]; return m != nil && m.sent != nil }
	deaf := l.mayBeDeaf(r.Tick)
	last := r.Purpose == LastCall
	w.Shells, w.All, w.Prove = l.shellsAmong(deaf), deaf, l.unproven(deaf, last)
	w.Asleep = l.above(w.Prove)
	if last {
		w.All = []int{l.self}
	}
	w.ReadsPipe = l.readersBelow(l.deliver, r.Worker, deaf, func(p proc.Process) bool { return p.PPID == l.self })
	return w, true
}

// readersBelow are the processes of which it matters whether they read a pipe: those that
// a plan may signal which begins with some, and goes on below those that die of the signal
// or can't act upon it; the worker is signalled whatever it reads. It is asked of parents
// before their children.
func (l *Ledger) readersBelow(sig unix.Signal, w Worker, deaf []int, begins func(proc.Process) bool) func(proc.Process) bool {
	goesOn := make(map[int]bool)
	for _, pid := range deaf {
		goesOn[pid] = true
	}
	return func(p proc.Process) bool {
		if !begins(p) && !goesOn[p.PPID] {
			return false
		}
		if p.Fatal != 0 || !p.Handles(sig) {
			goesOn[p.PID] = true
		}
		if p.PID == w.PID && !w.Gone {
			return false
		}
		m := l.records[p.ID]
		return m == nil || m.sent == nil
	}
}

// unproven is the evidence of those that were not signalled and have lost their parent, or
// are below those that may be deaf; in the last call of all that were not signalled. Of them it
// is asked whether they have received no signal.
func (l *Ledger) unproven(deaf []int, all bool) map[proc.ID]proc.Evidence {
	evidence := make(map[proc.ID]proc.Evidence)
	for _, m := range l.living {
		if m.sent != nil || m.evidence == nil || m.leftAlone {
			continue
		}
		up := l.records[m.parent]
		if all || m.PPID == l.self || up == nil || !l.alive(up) || l.belowAny(m, deaf) {
			evidence[m.ID] = m.evidence
		}
	}
	return evidence
}

// belowAny reports whether the nearest above a process that was signalled is one of these.
func (l *Ledger) belowAny(m *record, these []int) bool {
	for up := l.living[m.PPID]; up != nil; up = l.living[up.PPID] {
		if slices.Contains(these, up.PID) {
			return true
		}
		if up.sent != nil {
			return false
		}
	}
	return false
}

// above are the pids of the nearest that were signalled above each of these and live.
func (l *Ledger) above(these map[proc.ID]proc.Evidence) (pids []int) {
	for id := range these {
		for up := range l.upFrom(l.records[l.records[id].parent]) {
			if up.sent == nil {
				continue
			}
			if l.alive(up) && !slices.Contains(pids, up.PID) {
				pids = append(pids, up.PID)
			}
			break
		}
	}
	return pids
}

// Watched are the processes of the last snapshot whose death can leave an orphan, or let a
// reader of their pipe have its turn, and is not reported by wait4: those that are not
// drainit's children.
func (l *Ledger) Watched() (all []proc.ID) {
	var these []*record
	for _, m := range l.living {
		if m.PPID != l.self && (m.hasChildren || m.writes) {
			these = append(these, m)
		}
	}
	sortByPID(these)
	for _, m := range these {
		all = append(all, m.ID)
	}
	return all
}

// Died notes that a process that was watched has ended.
func (l *Ledger) Died(pid int) {
	if m := l.living[pid]; m != nil && m.PPID != l.self {
		delete(l.living, pid)
	}
}
