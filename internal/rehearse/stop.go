package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/diag"
	"drainit/internal/inspect"
	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
	"drainit/internal/worker"
	"drainit/reaper"
	"drainit/supervisor"
)

// stop is what was seen of the stop. Times are since it began.
type stop struct {
	cfg       supervisor.Config
	plan      *inspect.Plan
	rows      []*row
	unsettled bool // the processes were still changing
	outcome   supervisor.Outcome
	took      time.Duration
	reasons   []*reason
}

// row is a process of the plan, and what became of it.
type row struct {
	*inspect.Row
	Sent       string   `json:"sent,omitempty"` // the stop signal that drainit sent it
	SentAfter  *float64 `json:"sent_after_s,omitempty"`
	Late       bool     `json:"late,omitempty"` // it was sent in the last or the final call
	EndedAfter *float64 `json:"ended_after_s,omitempty"`
	ExitStatus *int     `json:"exit_status,omitempty"` // if drainit has waited for it; 128+n for signal n

	sentAt    time.Duration
	ended     time.Duration
	exit      *reaper.WaitEvent // nil if another process has waited for it
	untouched bool              // it slept on for inTime
}

const (
	// inTime is how long after its turn a process may be signalled: a second, and a tenth for the way.
	inTime = 1100 * time.Millisecond
	// atOnce is how long a runtime takes to end if the program has no handler: mostly less than 50 ms.
	atOnce = 200 * time.Millisecond
)

// row returns the process with this ID, nil for none. If the ID has no start time, its pid decides.
func (s *stop) row(id proc.ID) *row {
	for _, p := range s.rows {
		if p.ID == id || id.Start == 0 && p.PID == id.PID {
			return p
		}
	}
	return nil
}

// addRecord adds to each process of the plan what drainit has sent it, and how it ended.
func (s *stop) addRecord() {
	for _, sent := range slices.Backward(s.cfg.Record.Sent) { // of several the first counts
		if p := s.row(sent.To.ID); p != nil { // of a worker the pid may be all that is known
			p.Sent, p.sentAt, p.Late = signals.Name(sent.Signal), sent.After, sent.Late
			p.SentAfter = new(logx.InTenths(sent.After))
		}
	}
	for _, e := range slices.Backward(s.cfg.Record.Ended) {
		if p := s.row(proc.ID{PID: e.PID}); p != nil {
			p.ended, p.exit, p.ExitStatus = e.After, &e.WaitEvent, new(e.ExitStatus())
		}
	}
	for _, p := range s.rows {
		if p.ended == 0 { // the last to end
			p.ended = s.took
		}
		p.EndedAfter = new(logx.InTenths(p.ended))
	}
}

// addReasons adds why work is lost, and what was late. Of several reasons about one process the first counts.
func (s *stop) addReasons() {
	s.addKilled()
	s.addLate()
	for _, p := range s.rows {
		s.add(p.Process, s.against(p))
	}
	status := s.outcome.Status // of a process that is not in the plan, unless there is a reason
	if status != 0 && !s.isStop(status) && !slices.ContainsFunc(s.reasons, (*reason).loses) {
		s.add(proc.Process{}, loss(adviseRemap(status), "drainit would exit with status %d", status))
	}
	if s.unsettled {
		const advice = "--ready-port, or --during with a command that waits"
		s.add(proc.Process{}, note(advice, "the processes still changed after %v", changeFor))
	}
}

// add adds a reason why the work of a process was lost, or may be, unless there is one for that process. A
// nil why adds nothing. The zero process stands for a reason that is about no process.
func (s *stop) add(p proc.Process, why *reason) {
	if why == nil || slices.ContainsFunc(s.reasons, func(r *reason) bool { return r.PID == p.PID }) {
		return
	}
	why.PID, why.Comm = p.PID, logx.Printable(p.Comm)
	s.reasons = append(s.reasons, why)
}

// addKilled adds a reason for each process that drainit has killed.
func (s *stop) addKilled() {
	kill := s.outcome.Worker.Kill
	for _, p := range kill.Victims {
		why := loss("a handler for "+s.plan.StopSignal, "was killed at the end of the grace period")
		switch {
		case kill.Forced():
			why = loss("--second-stop ignore", "was killed by a second stop signal")
		case p.Handles(s.plan.Stop):
			why.Advice = "a longer --grace, if it was still at work"
		}
		s.add(*p, why)
	}
	if kill.Unread && len(kill.Victims) == 0 {
		s.add(proc.Process{}, loss("", "a process was killed that /proc did not show"))
	}
}

// addLate adds a reason for each process that handles the signal, and did not get it within inTime. If it got
// it only in a call, its job had no more than the rest of the grace period, unless that is below it and had
// ended by then.
func (s *stop) addLate() {
	for _, sent := range s.cfg.Record.Sent {
		const words = "was signalled only %.1fs after the stop signal"
		after := sent.After.Seconds()
		switch {
		case !sent.To.Handles(sent.Signal):
		case sent.Late && !s.hasDrained(sent):
			const call = words + ", in the last %.1fs of the grace period, which are all that its job had"
			const advice = "start it by exec, or let the one above it pass the signal on"
			s.add(sent.To, loss(advice, call, after, (s.cfg.Grace-sent.After).Seconds()))
		case sent.After > s.cfg.StopDelay+inTime:
			s.add(sent.To, note("", "late: "+words+": %s", after, sent.Rule))
		}
	}
	for _, p := range s.rows {
		if p.untouched && p.Sent == "" && p.Handles(s.plan.Stop) {
			s.add(p.Process, note("", "late: was sent no signal in the first second: %s", p.Stop))
		}
	}
}

// hasDrained reports whether a signalled process only waited for processes below it, and all of those had
// ended by the time it was signalled.
func (s *stop) hasDrained(sent supervisor.Sent) bool {
	all, pid := s.plan.All, sent.To.PID
	works := func(q *proc.Process) bool {
		p := s.row(q.ID)
		return q.PID != pid && p != nil && p.ended >= sent.After
	}
	return diag.OnlyWaits(all, sent.To, sent.Signal) && !slices.ContainsFunc(all.Descendants(pid), works)
}

// against returns why a process of the plan lost its work, nil if the process did not. Its work is lost if
// the worker failed, if the process was killed, and in two more cases:
//
//   - The process had no handler, and drainit sent it the signal at once, or it died of a signal of another
//     process, or a shell or a known program above ended it. What other programs do to those below them is
//     their own business.
//   - Its handler may be only its runtime's, and it ended at once as that runtime does. If --check finds the
//     work of --during done, the handler was the program's own.
//
// How long a process lives proves no drain. But a runtime without a handler ends at once, so a process that
// lives on runs code of the program's own, be it a Ruby ensure or a Java shutdown hook.
func (s *stop) against(p *row) *reason {
	const advised = "add one, or --rewrite with the signal that it drains on"
	name, sent := s.plan.StopSignal, p.Sent != "" || s.cfg.Mode == forward.ModeNone
	lived := p.ended - max(p.sentAt, s.cfg.StopDelay)
	dies, by, status := p.OnStop == proc.Dies, unix.Signal(0), -1
	if p.exit != nil {
		by, status = p.exit.TermSignal(), p.exit.ExitStatus()
	}
	switch {
	case !s.isAtWork(p), status == 0, slices.Contains(s.cfg.RemapExit, status):
		return nil
	case dies && p.sentAt > s.cfg.StopDelay+inTime:
		return note("", "late: has no %s handler and was sent it when others had drained", name)
	case dies && (sent || by != 0 && s.isStop(status)):
		return loss(advised, "has no %s handler and died of it", name)
	case by == unix.SIGKILL && s.cfg.Mode == forward.ModeWorker:
		return loss("--forward auto", "was killed when the worker had ended")
	case by == unix.SIGKILL:
		return loss("more time for it, in the settings of what is above it", "was killed by another process")
	case status >= 0 && !s.isStop(status):
		why := note(adviseRemap(status), "%v", worker.Exit{WaitEvent: *p.exit})
		why.Loses = p.PID == s.outcome.Worker.PID
		return why
	case status < 0 && dies && lived <= inTime && s.isManaged(p):
		return unlessDone(advised, "has no %s handler and ended at once", name)
	case s.endsByRuntime(p, by) && lived <= atOnce:
		const words = "may have no %s handler of its own: it ended at once, as its runtime does without one"
		return unlessDone("add one; if it has one, --during and --check show that", words, name)
	}
	return nil
}

// isManaged reports whether the parent of a process is a shell, or a program that is known to signal others.
func (s *stop) isManaged(p *row) bool {
	up, _ := s.plan.All.Process(p.PPID)
	return program.Of(&up) != program.Other || program.Signals(&up, s.plan.Stop) != program.Unknown
}

// endsByRuntime reports whether a process that ended with 128+n may have had only its runtime's handler. by
// is the signal that it died of, 0 if it exited. The JVM exits, whatever the program has. The others die of
// the signal, so that a status is the program's own choice. The programs that drainit knows have a handler.
func (s *stop) endsByRuntime(p *row, by unix.Signal) bool {
	lacks, _ := diag.LacksHandler(p.Process, s.plan.Stop)
	switch strings.TrimRight(p.Exe, "0123456789.") {
	case "java":
		return p.exit != nil
	case "ruby", "php":
		lacks = true
	}
	return by != 0 && lacks && program.Signals(&p.Process, s.plan.Stop) == program.Unknown
}

// isAtWork reports whether the end of a process loses work. It does not if the process only waits for one
// below it that handles the signal, serves one beside or above it, or reads what another writes. A shell or a
// launcher is at work if no other program is.
func (s *stop) isAtWork(p *row) bool {
	all := s.plan.All
	if diag.IsHelper(p.Process) && p.PPID != s.plan.PID || all.HasWriters(p.PID) ||
		diag.OnlyWaits(all, p.Process, s.plan.Stop) {
		return false
	}
	isOther := func(q *row) bool {
		return program.Of(&q.Process) == program.Other && !diag.IsHelper(q.Process)
	}
	return program.Of(&p.Process) == program.Other || !slices.ContainsFunc(s.rows, isOther)
}

// isStop reports whether an exit status is 128+n for the stop signal or for TERM. A shell or a launcher has
// it after a stop, and so has a program that drains, and then sends itself the signal.
func (s *stop) isStop(status int) bool {
	return status == 128+int(s.plan.Stop) || status == 128+int(unix.SIGTERM)
}

func adviseRemap(status int) string {
	return fmt.Sprintf("--remap-exit %d, if that is how it ends a drain", status)
}
