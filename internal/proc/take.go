package proc

import (
	"os"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Take takes a snapshot for which no process need be read closely.
func Take(w Want) (*Snapshot, error) { return new(Reader).Take(w) }

// Take takes a snapshot of what /proc shows now. Processes that vanish while it is
// read are dead in it, and what is hidden (hidepid) is not there. The error is ErrNoProc,
// why /proc can't be read, which may be for the moment only, or of a process that is the
// only one why it can't be (IsGone).
//
// Once a process is stuck in the kernel, which costs half a second, there are no
// arguments, of it and of those behind it, until it no longer is.
func (r *Reader) Take(w Want) (*Snapshot, error) {
	if err := checkProc(); err != nil {
		return nil, err
	}
	if w.Only != 0 {
		return r.takeOne(w)
	}
	if w.EnoughIf != 0 {
		if s, err := r.takeEnough(w); s != nil || err != nil {
			return s, err
		}
	}
	s, err := readAll()
	if err != nil {
		return nil, err
	}
	if err := r.readClosely(s, w); err != nil {
		return nil, err
	}
	s.readPipes(w)
	s.readForeground(w)
	return s, nil
}

// takeOne reads one process, closely if a signal or a program is asked for.
func (r *Reader) takeOne(w Want) (*Snapshot, error) {
	p, err := readStat(w.Only)
	if err != nil {
		return nil, err
	}
	s := New([]Process{p})
	if len(w.Signals) > 0 {
		err = r.readMasks(&s.all[0], w, true)
	}
	if w.Program {
		r.readPrograms(s, []int{0})
	}
	return s, err
}

// takeEnough reads a process that may be enough; nil where it is not.
func (r *Reader) takeEnough(w Want) (*Snapshot, error) {
	p, err := readStat(w.EnoughIf)
	if err != nil {
		return nil, err
	}
	if !p.Handles(w.Signals[0]) { // as far as the stat tells: most programs have a handler
		if err := r.readMasks(&p, w, true); err != nil && isResourceExhausted(err) {
			return nil, err
		}
	}
	if !p.Handles(w.Signals[0]) {
		return nil, nil
	}
	return New([]Process{p}), nil
}

// readAll reads the stat of every process that /proc shows.
func readAll() (*Snapshot, error) {
	pids, err := readPids("/proc")
	if err != nil {
		return nil, err
	}
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		p, err := readStat(pid)
		switch {
		case err == nil:
			all = append(all, p)
		case isResourceExhausted(err):
			return nil, err // a snapshot with holes would pass for the whole
		}
	}
	return New(all), nil
}

// readClosely reads what is wanted of some processes.
func (r *Reader) readClosely(s *Snapshot, w Want) error {
	var programs []int
	end := s.endOfChain(w.Chain)
	if w.Parents != 0 {
		for _, i := range s.descendants(w.Parents) {
			p := &s.all[i]
			closely := p.PPID == w.Parents || len(s.children[p.PID]) > 0 || i == end
			if err := r.readMasks(p, w, closely); err != nil {
				return err
			}
			if closely && p.Alive() {
				programs = append(programs, i)
			}
		}
	}
	if w.Group != 0 {
		for i := range s.all {
			if p := &s.all[i]; p.PGID == w.Group && p.Alive() {
				if err := r.readMasks(p, w, true); err != nil {
					return err
				}
			}
		}
	}
	if w.Nearest != 0 {
		if err := r.readNearest(s, w, s.rootsOf(w.Nearest)); err != nil {
			return err
		}
	}
	r.readPrograms(s, programs)
	return nil
}

// rootsOf are the indexes at which the ways down from a process begin.
func (s *Snapshot) rootsOf(pid int) []int {
	if pid == os.Getpid() {
		return s.children[pid]
	}
	if i, ok := s.index[pid]; ok {
		return []int{i}
	}
	return nil
}

func (r *Reader) readNearest(s *Snapshot, w Want, roots []int) error {
	for _, i := range roots {
		p := &s.all[i]
		if !p.Alive() {
			continue
		}
		if err := r.readMasks(p, w, true); err != nil {
			return err
		}
		if p.Handles(w.Signals[0]) {
			continue
		}
		if err := r.readNearest(s, w, s.children[p.PID]); err != nil {
			return err
		}
	}
	return nil
}

// endOfChain is the index of the process at the end of the line of only children that
// begins below a pid, -1 where there is none or the line parts.
func (s *Snapshot) endOfChain(pid int) int {
	end := -1
	for pid != 0 {
		only := s.Children(pid)
		if len(only) == 0 {
			return end
		}
		if len(only) > 1 {
			return -1
		}
		pid = only[0].PID
		end = s.index[pid]
	}
	return end
}

// readMasks reads the signals of a process: those that it has handlers for, and where it
// is read closely, those that it waits for. A process that has vanished is dead. The error
// is that of a want of means.
func (r *Reader) readMasks(p *Process, w Want, closely bool) error {
	if !p.Alive() || !closely && highest(w.Signals) <= statSignals {
		return nil // a status costs as much again as the stat
	}
	st, err := readStatus(p.PID)
	if err == nil {
		p.Handled, p.Ignored, p.Pending = st.handled, st.ignored, st.pending
	}
	for _, sig := range w.Signals {
		if !closely || err != nil {
			break
		}
		var handles bool
		if handles, err = r.handles(p.PID, st, sig, w.Until); handles {
			p.Handled |= signals.SetOf(sig)
		}
	}
	switch {
	case isResourceExhausted(err):
		return err
	case err != nil:
		p.State = 'X'
	}
	return nil
}

func highest(sigs []unix.Signal) (most unix.Signal) {
	for _, sig := range sigs {
		most = max(most, sig)
	}
	return most
}
