package proc

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Take takes a snapshot with a Reader of its own.
func Take(w Want) (*Snapshot, error) { return new(Reader).Take(w) }

// Take takes a snapshot of what /proc shows now. Processes that vanish while it is
// read are dead in it, and what is hidden (hidepid) is not there. The error is ErrNoProc,
// ErrNoAnswer, why /proc can't be read, which may be for the moment only, or of a process that
// is the only one why it can't be (IsGone).
//
// A process that hangs in the kernel costs the first look some 60 ms. In it and in those
// behind it that process is dead if its stat can't be read (Hanging), and else not read closely.
func (r *Reader) Take(w Want) (*Snapshot, error) {
	began := time.Now()
	g, err := r.beside(func(g *reading) {
		w := w
		w.Until = w.Until.Add(time.Since(began)) // what hangs costs the others no time
		g.s, g.err = g.take(w)
	})
	if err != nil {
		return nil, err
	}
	return g.s, g.err
}

func (g *reading) take(w Want) (*Snapshot, error) {
	if err := checkProc(); err != nil {
		return nil, err
	}
	if w.Only != 0 {
		return g.takeOne(w)
	}
	if w.These != nil {
		return g.takeThese(w)
	}
	if w.Evidence != nil {
		return g.takeEvidence(w), nil
	}
	if w.EnoughIf != 0 {
		if s, err := g.takeEnough(w); s != nil || err != nil {
			return s, err
		}
	}
	asleep := whichSleep(w.Asleep)
	untouched := proveUntouched(w.Prove, w.Signals) // first: each moment can be one in which a process wakes up
	s, err := g.readAll()
	if err != nil {
		return nil, err
	}
	s.untouched, s.asleep = untouched, asleep
	if err := g.readClosely(s, w); err != nil {
		return nil, err
	}
	g.readPipes(s, w)
	g.readForeground(s, w)
	return s, nil
}

// takeOne reads one process, closely if a signal or a program is asked for.
func (g *reading) takeOne(w Want) (*Snapshot, error) {
	p, err := g.readStat(w.Only)
	if err != nil {
		return nil, err
	}
	s := New([]Process{p})
	if len(w.Signals) > 0 {
		err = g.readMasks([]*Process{&s.all[0]}, w)
	}
	if w.Program {
		g.readPrograms(s, []int{0}, w)
	}
	if w.Place && !p.hangs {
		s.all[0].readPlace()
	}
	return s, err
}

// takeThese reads some processes.
func (g *reading) takeThese(w Want) (*Snapshot, error) {
	s, err := g.readEach(w.These, readStat)
	if err != nil {
		return nil, err
	}
	closely, programs := make([]*Process, len(s.all)), make([]int, len(s.all))
	for i := range s.all {
		closely[i], programs[i] = &s.all[i], i
	}
	if err := g.readMasks(closely, w); err != nil {
		return nil, err
	}
	g.readPrograms(s, programs, w)
	s.waiting = make(map[int]bool)
	for i := range s.all {
		p := &s.all[i]
		s.waiting[p.PID] = p.Alive() && p.State == 'S' && !p.hangs && howWaits(p) != NotWaiting
	}
	return s, nil
}

// takeEnough reads a process that may be enough; nil where it is not.
func (g *reading) takeEnough(w Want) (*Snapshot, error) {
	p, err := g.readStat(w.EnoughIf)
	if err != nil {
		return nil, err
	}
	if !p.Handles(w.Signals[0]) { // as far as the stat tells: most programs have a handler
		if err := g.readMasks([]*Process{&p}, w); err != nil {
			return nil, err
		}
	}
	if !p.Handles(w.Signals[0]) {
		return nil, nil
	}
	return New([]Process{p}), nil
}

// readAll reads the stat of every process that /proc shows.
func (g *reading) readAll() (*Snapshot, error) {
	dir, err := openProc("/proc", unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	pids, err := readPidsOf(dir)
	if err != nil {
		return nil, err
	}
	stats := statReader{dir: dir}
	return g.readEach(pids, stats.read)
}

// readEach makes a snapshot of these processes, as far as they are there.
func (g *reading) readEach(pids []int, read func(pid int) (Process, error)) (*Snapshot, error) {
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		p, err := g.readOne(pid, read)
		if err == ErrNoAnswer {
			p, err = readHanging(pid)
		}
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
func (g *reading) readClosely(s *Snapshot, w Want) error {
	if err := g.readBelow(s, w); err != nil {
		return err
	}
	if w.Group != 0 {
		var members []*Process
		for i := range s.all {
			if s.all[i].PGID == w.Group {
				members = append(members, &s.all[i])
			}
		}
		if err := g.readMasks(members, w); err != nil {
			return err
		}
	}
	return g.readNearest(s, w, s.rootsOf(w.Nearest))
}

// readBelow reads what is below w.Parents: closely what a stop needs of it, and of the
// others what their stat does not have.
func (g *reading) readBelow(s *Snapshot, w Want) error {
	if w.Parents == 0 {
		return nil
	}
	var programs []int
	var closely, others []*Process
	end, all := s.endOfChain(w.Chain), s.belowAny(w.All)
	for _, i := range s.descendants(w.Parents) {
		p := &s.all[i]
		switch {
		case len(s.children[p.PID]) == 0 && w.Settled != nil && g.asks(func() bool { return w.Settled(p.ID) }):
		case p.PPID == w.Parents || len(s.children[p.PID]) > 0 || i == end || all[i]:
			closely = append(closely, p)
			programs = append(programs, i)
		case highest(w.Signals) > statSignals: // a status costs as much again as the stat
			others = append(others, p)
		}
	}
	for _, p := range others {
		if err := readHandlers(p); err != nil {
			return err
		}
	}
	if err := g.readMasks(closely, w); err != nil {
		return err
	}
	programs = slices.DeleteFunc(programs, func(i int) bool { return !s.all[i].Alive() })
	g.readPrograms(s, programs, w)
	return nil
}

// belowAny are the indexes of all processes below any of these, which are not among them
// unless one is below another.
func (s *Snapshot) belowAny(these []int) map[int]bool {
	below := make(map[int]bool)
	for _, pid := range these {
		for _, i := range s.descendants(pid) {
			below[i] = true
		}
	}
	return below
}

// readHandlers reads the signals that a process has handlers for.
func readHandlers(p *Process) error {
	if !p.Alive() {
		return nil
	}
	st, err := p.readStatus()
	if err == nil && p.Alive() {
		p.Handled, p.Ignored = st.handled, st.ignored
	}
	return err
}

// rootsOf are the indexes at which the ways down from a process begin.
func (s *Snapshot) rootsOf(pid int) []int {
	if pid == os.Getpid() {
		return s.children[pid]
	}
	if i, ok := s.index(pid); ok {
		return []int{i}
	}
	return nil
}

// readNearest reads each way down as far as the first process that handles the signal, one
// generation after the other.
func (g *reading) readNearest(s *Snapshot, w Want, generation []int) error {
	for len(generation) > 0 {
		var these []*Process
		for _, i := range generation {
			these = append(these, &s.all[i])
		}
		if err := g.readMasks(these, w); err != nil {
			return err
		}
		var next []int
		for _, p := range these {
			if p.Alive() && !p.Handles(w.Signals[0]) {
				next = append(next, s.children[p.PID]...)
			}
		}
		generation = next
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
		end, _ = s.index(pid)
	}
	return end
}

func highest(sigs []unix.Signal) (most unix.Signal) {
	for _, sig := range sigs {
		most = max(most, sig)
	}
	return most
}
