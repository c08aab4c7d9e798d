package proc

import (
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tree takes a snapshot in which much is known of each process below root, the nearest
// first: what it does with signals, its program, what it waits for, which pipes it reads and writes.
// Of a process that within was too short for, and of those elsewhere, only the stat is known.
//
// since is an earlier snapshot of the same tree, or nil: it is shown for each process whether it
// is Untouched since.
//
// Processes that vanish while they are read are dead in it; the hidden (hidepid) are missing. The
// error is ErrNoProc, ErrNoAnswer, or why /proc can't be read, which may be for the moment only.
// A process that hangs in the kernel costs the first snapshot some 60 ms, after which less is read
// of it (Hanging).
func (r *Reader) Tree(root int, since *Snapshot, within time.Duration) (*Snapshot, error) {
	return r.take(within, func(g *reading, until time.Time) (*Snapshot, error) { return g.tree(root, since, until) })
}

// All takes a snapshot of the stats of all processes. The errors are those of Tree.
func (r *Reader) All() (*Snapshot, error) {
	return r.take(0, func(g *reading, _ time.Time) (*Snapshot, error) { return g.stats() })
}

// Process reads one process as Tree does. The errors are those of Read.
func (r *Reader) Process(pid int) (p Process, err error) {
	s, err := r.take(0, func(g *reading, _ time.Time) (*Snapshot, error) {
		p, err := g.readStat(pid)
		if err != nil {
			return nil, err
		}
		s := New([]Process{p})
		return s, g.closely(s, []int{0}, nil, time.Time{})
	})
	if err != nil {
		return p, err
	}
	return s.all[0], nil
}

// Read reads the stat of one process with a Reader of its own.
func Read(pid int) (Process, error) { return new(Reader).Read(pid) }

// Read reads the stat of one process. The error is ErrNoProc, ErrNoAnswer or that of open(2) or
// read(2), ENOENT and ESRCH where there is no such process.
func (r *Reader) Read(pid int) (p Process, err error) {
	s, err := r.take(0, func(g *reading, _ time.Time) (*Snapshot, error) {
		p, err := g.readStat(pid)
		return &Snapshot{all: []Process{p}}, err
	})
	if err != nil {
		return p, err
	}
	return s.all[0], nil
}

// take makes a call beside the loop. A process that hangs takes no time from the others.
func (r *Reader) take(within time.Duration, call func(g *reading, until time.Time) (*Snapshot, error)) (*Snapshot, error) {
	g, err := r.beside(func(g *reading) {
		if g.err = checkProc(); g.err == nil {
			g.s, g.err = call(g, time.Now().Add(within))
		}
	})
	if err != nil {
		return nil, err
	}
	return g.s, g.err
}

// stats reads the stat of every process that /proc shows.
func (g *reading) stats() (*Snapshot, error) {
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

func (g *reading) tree(root int, since *Snapshot, until time.Time) (*Snapshot, error) {
	s, err := g.stats()
	if err != nil {
		return nil, err
	}
	below := s.descendants(root)
	if err := g.closely(s, below, since, until); err != nil {
		return nil, err
	}
	g.readWriters(s, below)
	return s, nil
}

// closely reads more than the stat of these, until there is no more time; of the first in any
// case. A millisecond later it reads again of those for which one read is not enough: one that
// blocks signals may be in the middle of a fork, which blocks all of them for a moment, and a
// thread that goes back to sleep is in state S for a moment before that is counted.
func (g *reading) closely(s *Snapshot, these []int, since *Snapshot, until time.Time) error {
	var again []*Process
	for n, i := range these {
		p := &s.all[i]
		if n > 0 && time.Now().After(until) {
			break
		}
		if !p.Alive() || p.hangs {
			continue
		}
		g.reads(p.PID, closely)
		before, _ := since.find(p.PID)
		if before != nil && before.ID != p.ID {
			before = nil
		}
		if err := p.readMore(before, len(s.children[p.PID]) > 0); err != nil {
			return err
		}
		if p.Untouched || p.Blocked != 0 {
			again = append(again, p)
		}
	}
	if len(again) > 0 { // by the kernel: on a busy machine a timer of Go's may come so late that the thread seems to hang
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(time.Millisecond)}, nil)
	}
	for _, p := range again {
		g.reads(p.PID, closely)
		if err := p.confirm(); err != nil {
			return err
		}
	}
	return nil
}

// readMore reads all but the stat of a process. before is it in an earlier snapshot, or nil; a
// name that is the same tells that its program is. The error is that of a want of means.
func (p *Process) readMore(before *Process, isParent bool) error {
	st, err := p.readStatus()
	if err != nil || !p.Alive() {
		return err
	}
	p.Handled, p.Ignored, p.Pending, p.NestedInit = st.handled, st.ignored, st.pending, st.nested
	if p.State == 'S' {
		p.Call = callOf(p.PID, p.PID)
	}
	p.readThreads(st, isParent)
	p.Untouched = before != nil && p.isStill(before)
	if before != nil && before.Exe != "" && before.Comm == p.Comm {
		p.Exe, p.Args = before.Exe, before.Args
	} else {
		p.readProgram()
	}
	p.Reads = pipeAt(p.PID, "fd/0")
	return nil
}

// confirm reads a second time what one read does not tell for certain.
func (p *Process) confirm() error {
	now := *p
	st, err := now.readStatus()
	if err != nil {
		return err
	}
	if !now.Alive() {
		p.State, p.Untouched = now.State, false
		return nil
	}
	now.readThreads(st, false)
	p.Untouched = p.Untouched && now.isStill(p)
	if p.Blocked &= now.Blocked &^ p.Ignored; p.Blocked != 0 {
		p.Awaited = (now.Awaited | signalfds(p.PID)) & p.Blocked
	}
	return nil
}

// readStatus reads the status of a process. One that has vanished is dead from then on.
// The error is that of a want of means.
func (p *Process) readStatus() (status, error) {
	st, err := readStatus(p.PID)
	if isResourceExhausted(err) {
		return st, err
	}
	if err != nil {
		p.State = 'X'
	}
	return st, nil
}

// readProgram reads what runs a process. A script's comm is its own name, so only the link to
// the executable tells a shell; and only its arguments tell what a busybox or a node is.
func (p *Process) readProgram() {
	if link, err := readLink(p.PID, "exe"); err == nil {
		p.Exe = filepath.Base(strings.TrimSuffix(link, " (deleted)"))
	}
	if text, err := readPart(p.PID, "cmdline", 0, page); err == nil {
		p.Args = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
}

// SameProgram reports whether a process runs the file that drainit itself runs. known is
// false where that may not be read.
func SameProgram(pid int) (same, known bool) {
	g, err := new(Reader).beside(func(g *reading) {
		var own, its File
		g.reads(pid, closely)
		if _, own, g.err = statFile("/proc/self/exe"); g.err == nil {
			g.err = asOwner(pid, func() (err error) {
				_, its, err = statFile(procPath(pid, "exe"))
				return err
			})
		}
		g.yes = own == its
	})
	known = err == nil && g.err == nil
	return known && g.yes, known
}
