package proc

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Tree takes a snapshot of all processes, with details of each one below root, the oldest first: a process is
// older than each that it has started, even if another has become the parent of that. The details are how it
// treats signals, its program, the call that it waits in, the pipes that it reads and writes, and whether it
// is Untouched since an earlier snapshot of the same tree. since is that snapshot, or nil. within is the time
// for the details. A process for which it was too short has only its stat, as those elsewhere have. A process
// that vanishes during the read is dead in the snapshot, and one that is hidden (hidepid) is missing. The
// error is ErrNoProc, ErrNoAnswer, or the reason why /proc cannot be read, perhaps for a moment. A process
// that hangs in the kernel makes the first snapshot some 60 ms longer (Hanging).
func (r *Reader) Tree(root int, since *Snapshot, within time.Duration) (*Snapshot, error) {
	return withTimeout(r, func(g *reading) (*Snapshot, error) {
		return g.tree(root, r.Given, since, time.Now().Add(within))
	})
}

// All takes a snapshot of the stats of all processes. The errors are those of Tree.
func (r *Reader) All() (*Snapshot, error) {
	return withTimeout(r, func(g *reading) (*Snapshot, error) { return g.statsBut(nil) })
}

// Process reads one process as Tree does. The errors are those of Read.
func (r *Reader) Process(pid int) (Process, error) {
	return withTimeout(r, func(g *reading) (Process, error) {
		p, err := g.readOne(pid)
		if err == nil {
			err = g.readDetails([]*Process{&p}, New(nil), nil, time.Time{})
		}
		return p, err
	})
}

// Read reads the stat of one process. The error is ErrNoProc, ErrNoAnswer, or that of open(2) or read(2). If
// there is no such process, it is ENOENT or ESRCH.
func (r *Reader) Read(pid int) (Process, error) {
	return withTimeout(r, func(g *reading) (Process, error) { return g.readOne(pid) })
}

// readOne reads the stat of one process. The error is ErrNoAnswer if the process hangs. If only one more
// thread may hang, it is ErrNoAnswer for each process in state D, too, since it may hang.
func (g *reading) readOne(pid int) (Process, error) {
	var st status
	if len(g.hangs) == MostHung-1 {
		st, _ = statusOf(pid)
	}
	if st.state == 'D' || !g.mayRead(pid, stat) {
		return Process{}, ErrNoAnswer
	}
	return readStat(pid)
}

// statsBut reads the stats of all processes that the snapshot s does not show. A nil s shows none.
func (g *reading) statsBut(s *Snapshot) (*Snapshot, error) {
	pids, err := readPids("/proc")
	if err != nil {
		return nil, err
	}
	return g.readEach(slices.DeleteFunc(pids, func(pid int) bool { return s.find(pid) != nil }))
}

// readEach makes a snapshot of the stats of these processes. Those that have gone are missing in it.
func (g *reading) readEach(pids []int) (*Snapshot, error) {
	all := make([]Process, 0, len(pids))
	for _, pid := range pids {
		p, err := g.readOne(pid)
		if err == ErrNoAnswer {
			p, err = readHanging(pid)
		}
		if isResourceExhausted(err) {
			return nil, err // a snapshot with holes would pass for the whole
		}
		if err == nil {
			all = append(all, p)
		}
	}
	return New(all), nil
}

func (g *reading) tree(root int, given File, since *Snapshot, until time.Time) (*Snapshot, error) {
	s, err := g.statsBut(nil)
	below := s.descendants(root)
	slices.SortFunc(below, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), a.PID-b.PID)
	})
	if since != nil {
		pause() // a stat that shows a process asleep is the first of two reads that prove it
	}
	if err == nil {
		err = g.readDetails(below, s, since, until)
	}
	waits := func(p *Process) bool { return p.Call.Number == unix.SYS_WAIT4 }
	if err == nil && slices.ContainsFunc(below, waits) {
		err = g.doubtWaits(s)
	}
	if err != nil {
		return nil, err
	}
	g.readWriters(s, below, given, until)
	return s, nil
}

// doubtWaits reads which processes there are once more. It takes the Call from each that has started a child
// since s was read, so that it counts as awake: it may wait for that child now. A shell with a loop around
// sleep(1) starts a child all the time.
func (g *reading) doubtWaits(s *Snapshot) error {
	started, err := g.statsBut(s)
	for _, p := range started.All() {
		if parent := s.find(p.PPID); parent != nil {
			parent.Call = Call{}
		}
	}
	return err
}

// pause sleeps for a millisecond between two reads of a process, where one read is not enough: a fork blocks
// all signals for a moment, and a thread is in state S a moment before that is counted. It sleeps in the
// kernel. A timer of Go's may come late on a busy machine, and this thread would seem to hang in a read.
func pause() {
	ms := unix.NsecToTimespec(int64(time.Millisecond))
	_ = unix.Nanosleep(&ms, nil)
}

// readDetails reads the details of these processes of the snapshot s, and compares them with an earlier
// snapshot (since). It reads a process a second time, a millisecond later, if the first read is not certain.
// It stops at a time (until), but reads the first process in any case.
func (g *reading) readDetails(these []*Process, s, since *Snapshot, until time.Time) error {
	var again []*Process
	for n, p := range these {
		if n > 0 && time.Now().After(until) {
			break
		}
		if !p.Alive() || !g.mayRead(p.PID, details) {
			continue
		}
		before, _ := since.Process(p.PID)
		parent, _ := s.Process(p.PPID)
		if len(s.children[p.PPID]) > mostJobs {
			parent.input = openFile{}
		}
		uncertain, err := p.readMore(before, parent, len(s.children[p.PID]) > 0)
		if isResourceExhausted(err) {
			return err
		}
		if uncertain {
			again = append(again, p)
		}
	}
	for n, p := range again {
		if n == 0 {
			pause()
		} else if time.Now().After(until) {
			p.Untouched, p.Pending = false, 0 // neither is certain
			continue
		}
		g.mayRead(p.PID, details)
		if err := p.confirm(); isResourceExhausted(err) {
			return err
		}
	}
	return nil
}

// Three moments prove that a process has slept since an earlier snapshot. Its stat showed it asleep (slept).
// Then each thread had as many context switches as in that snapshot (SleptSince). If these are several reads,
// confirm makes them once more: none has run in between.

// readMore reads all but the stat of a process, and reports whether what was read is to be confirmed by a
// second read. before is the process in the earlier snapshot, zero for none. If its one thread has slept
// since, its details are those of before. parent is its parent, and isParent says that it has children.
func (p *Process) readMore(before, parent Process, isParent bool) (uncertain bool, err error) {
	slept := p.State == 'S' // the first of two reads that prove it
	st, err := p.readStatus()
	if IsGone(err) || isResourceExhausted(err) {
		return false, err
	}
	p.Handled, p.Ignored, p.Pending, p.NestedInit = st.handled, st.ignored, st.pending, st.nested
	now := []Thread{{p.PID, st.switches}}
	if before.ID == p.ID && slept && st.threads == 1 && st.rests() && slices.Equal(before.Evidence, now) {
		p.Details = before.Details
		p.Asleep, p.Untouched, p.Switches = true, true, st.switches
		return false, nil
	}
	isWhole := isParent || before.ID == p.ID && before.Switches != 0
	p.readThreads(st, isWhole)
	if before.ID == p.ID && !slept {
		p.Evidence, p.Switches = nil, 0
	}
	p.Untouched = p.SleptSince(&before)
	switch { // execve(2) sets another name, or another base, mostly both
	case before.ID == p.ID && before.Exe != "" && before.Comm == p.Comm:
		p.Exe, p.Args = before.Exe, before.Args
	case parent.Exe != "" && parent.Comm == p.Comm && p.IsForkOf(&parent):
		p.Exe, p.Args = parent.Exe, parent.Args
	default:
		p.readProgram()
	}
	p.readInput(&parent)
	return p.Blocked|p.Pending != 0 || len(p.Evidence) > 1 || isWhole && st.threads > 1, nil
}

// confirm reads a process a second time. What both reads show as pending or blocked stays so, and the process
// stays Untouched if no thread has run in between. A blocked signal that either read shows as awaited stays
// awaited.
func (p *Process) confirm() error {
	st, err := p.readStatus()
	now := *p
	now.readThreads(st, p.Switches != 0)
	if now.Switches != p.Switches {
		p.Switches = 0
	}
	p.Pending &= st.pending
	p.Untouched = p.Untouched && p.SleptSince(&now)
	p.Awaited |= now.Awaited                      // it may be between two waits
	if p.Blocked &= now.Blocked; p.Blocked != 0 { // Linux queues a blocked signal although it is ignored
		p.Awaited |= signalfds(p.PID)
	}
	p.Awaited &= p.Blocked
	return err
}

// readStatus reads /proc/PID/status, and sets the state of the process by that file, too, so that the state
// and the pending signals are of the same moment. A process that has vanished becomes dead. A process whose
// file may not be read does not.
func (p *Process) readStatus() (status, error) {
	st, err := statusOf(p.PID)
	switch {
	case IsGone(err):
		p.State = 'X'
	case st.state == 0:
		st.state = p.State
	case st.state != 'Z': // else other threads may live
		p.State = st.state
	}
	return st, err
}

// readProgram reads what runs a process. A script's comm is its own name, so only the link to the executable
// shows a shell. Only the arguments show what a busybox or a node is.
func (p *Process) readProgram() {
	if link, err := readLink(p.PID, "exe"); err == nil {
		p.Exe = filepath.Base(strings.TrimSuffix(link, " (deleted)"))
	}
	if text, err := readPart(p.PID, "cmdline", 0, page); err == nil {
		p.Args = strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
	}
}
