package diag

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// Stop has what the warnings of a stop go by.
type Stop struct {
	Worker      int            // its pid
	Came, Sends unix.Signal    // the signal that came to drainit, and the one that processes are sent
	Start       *proc.Snapshot // from before the stop signal, nil for none
	Began       uint64         // when drainit sent the signal first, by proc.Ticks
	atWork      []proc.Process // then, but those that drainit has waited for
	each        bool           // a line says that the platform signals each process
}

// Begin begins a stop. Its roots are the worker or, if that daemonizes (all), each child of drainit (self).
// The processes at or below them that do the work are at work. One that is below another and would die of the
// signal is at work, too, if what has started it leaves it to drainit, unless it is a helper.
func (s *Stop) Begin(self int, all bool) (lines []Line) {
	for _, root := range s.Start.Children(self) {
		if root.PID != s.Worker && !all {
			continue
		}
		s.atWork = append(s.atWork, nearest(s.Start, root.PID)...)
		for _, p := range s.Start.Descendants(root.PID) {
			if lacks, _ := lacksHandler(p, s.Sends); lacks && !IsHelper(p) && !p.Ignores(s.Sends) {
				s.atWork = append(s.atWork, *p)
			}
		}
		if !root.MasksKnown() {
			lines = line(noMasks, nil)
		}
	}
	return lines
}

// Pending returns the line that the platform signals each process, not drainit alone, when drainit has not
// sent a signal so far. A process below drainit (self) that has the stop signal pending already shows it.
func (s *Stop) Pending(self int) []Line {
	for _, p := range s.Start.Descendants(self) {
		if (p.Pending &^ p.Blocked).Has(s.Came) {
			return s.Each(*p, s.Came)
		}
	}
	return nil
}

// Each returns the line that the platform seems to signal each process. The sign is a process that was sent a
// stop signal by another than drainit.
func (s *Stop) Each(p proc.Process, by unix.Signal) []Line {
	s.each = true
	return line(signalsEach, nil, p, by)
}

// works reports whether a process is at work, and does not only wait for another that handles the signal: its
// own death loses nothing then. The other is below it, as below time(1). For a helper, such as a tail that
// keeps a container open, it may be below the parent of the helper.
func (s *Stop) works(p *proc.Process, sig unix.Signal) bool {
	among := p.PID
	if IsHelper(p) {
		among = p.PPID
	}
	isIt := func(q proc.Process) bool { return q.ID == p.ID }
	handles := func(q *proc.Process) bool { return q.PID != p.PID && q.Handles(sig) }
	works := p.PID == s.Worker || slices.ContainsFunc(s.atWork, isIt)
	return works && !slices.ContainsFunc(s.Start.Descendants(among), handles)
}

// Sent returns a line about each process at work that ignores the signal that it was sent.
func (s *Stop) Sent(made []forward.Delivery) (lines []Line) {
	for _, d := range made {
		for _, p := range d.Reached() {
			if p.Ignores(d.Signal) && s.works(&p, d.Signal) {
				lines = append(lines, line(ignoring, p.Comm, p, d.Signal)...)
			}
		}
	}
	return lines
}

// Death returns the line about a process at work that ended at once by the stop signal, and may have had no
// handler of its own: after 0.1 s, a death may be good manners. It is written once for each program. how says
// how the process ended. What was signalled late in the stop may have served those that drained. The advice
// names TERM, or a signal that the program surely drains on, but no rewrite that is set.
func (s *Stop) Death(c forward.Cause, how string) []Line {
	const atOnce, inTime = 100 * time.Millisecond, 110
	p := &c.Process
	lacks, certain := lacksHandler(p, c.By)
	if !c.Stop || c.After > atOnce || !lacks || s.each || !s.works(p, c.By) {
		return nil
	}
	from, to := cmp.Or(s.Came, c.By), "SIG" // for one that is not known
	for _, sig := range []unix.Signal{unix.SIGQUIT, unix.SIGINT, unix.SIGTERM} {
		drains := program.DrainsOn(p, sig) || sig == unix.SIGTERM && p.Handles(sig)
		if sig != from && sig != c.By && drains {
			to = signals.Short(sig)
		}
	}
	m, end := mayLack, any(how)
	if certain {
		m, end = lacking, c.By
	}
	if c.Tick > s.Began+inTime {
		m.Loss = ""
	}
	return line(m, p.Comm, *p, end, signals.Short(from), to, c.By)
}

// Reaped notes that drainit has waited for a process, and so knows how it ended.
func (s *Stop) Reaped(pid int) {
	s.atWork = slices.DeleteFunc(s.atWork, func(p proc.Process) bool { return p.PID == pid })
}

// Gone returns a line about each process at work that has ended at once, and of which drainit (self) does
// not know how: it is another's child. Either a shell has ended it, and drainit has sent it nothing, or the
// worker has ended by the signal (byIt), and then any process may have. At once is within 0.2 s of the signal
// to it or, if drainit has sent it none, of the first. now is a snapshot, nil if no process is left, and tick
// its time.
func (s *Stop) Gone(now *proc.Snapshot, tick uint64, h *forward.History, self int, byIt bool) (lines []Line) {
	const atOnce = 20
	m := endedAtOnce
	if byIt {
		m = endedWithWorker
	}
	s.atWork = slices.DeleteFunc(s.atWork, func(p proc.Process) (late bool) {
		is, _ := now.Process(p.PID)
		if is.ID == p.ID && (is.Alive() || is.PPID == self) {
			return false
		}
		up, _ := s.Start.Process(p.PPID)
		d, isSent := h.StopTo(p.PID)
		lacks, _ := lacksHandler(&p, s.Sends)
		late = tick > max(s.Began, d.Tick)+atOnce
		byShell := program.Of(&up) == program.Shell && !isSent
		if !late && d.Process.PPID != self && lacks && (byIt || byShell) {
			lines = append(lines, line(m, p.Comm, p, s.Sends)...)
		}
		return late
	})
	return lines
}

// lacksHandler reports whether a process that ended by a signal right after it was sent may have had no
// handler of its own for it. certain is set only if the process was read and showed no handler: a handler may
// be the runtime's.
func lacksHandler(p *proc.Process, sig unix.Signal) (lacks, certain bool) {
	switch {
	case !isOther(*p) || p.Blocked.Has(sig):
		return false, false
	case p.Start == 0:
		return true, false
	}
	return !program.DrainsOn(p, sig), !p.Handles(sig)
}
