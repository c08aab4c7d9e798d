package journal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/proc"
)

// The lines of the end: what is killed, and what drainit ends with.

// StopBegan is when the stop was requested, or the worker exited.
func (j *Journal) StopBegan() time.Time {
	since, requested := j.machine.Requested()
	if !requested && j.worker.Gone() {
		since = j.worker.Exit.At
	}
	return since
}

// Kill is the kill at the end of a stop.
type Kill struct {
	Began   bool
	Forced  bool            // by a second stop signal, or by Asker; else the grace period was over
	Asker   string          // who has run drainit stop --force, "" for none
	Victims []*proc.Process // that were alive
	Unseen  bool            // /proc did not show them, or not all
}

// Happened reports whether a process was killed.
func (k Kill) Happened() bool { return len(k.Victims) > 0 || k.Unseen }

// names are those of the victims.
func (k Kill) names() string {
	if k.Unseen {
		return "what was left"
	}
	return names(k.Victims)
}

// The values of the field reason: why the worker ended, or what was left was killed.
const (
	reasonExit       = "exit"           // it exited by itself
	reasonStop       = "stop"           // a stop signal came, and all ended in time
	reasonGrace      = "grace"          // the grace period was over
	reasonSecondStop = "second_stop"    // a second stop signal
	reasonForce      = "force"          // drainit stop --force
	reasonWorkerOnly = "forward_worker" // the worker has ended, and --forward worker leaves the rest no time
	reasonOutside    = "outside"        // it died of a signal that drainit did not send
	reasonForwarded  = "forwarded"      // it died of a signal that drainit forwarded
	reasonNotStarted = "not_started"    // there was no worker
)

// reason is why the worker ended, or was killed.
func (j *Journal) reason() string {
	_, requested := j.machine.Requested()
	died := j.worker.Gone() && j.worker.Exit.TermSignal() != 0
	switch {
	case j.why != "":
		return j.why
	case died && !j.worker.Sent.Has(j.worker.Exit.TermSignal()):
		return reasonOutside
	case died && j.worker.Forwarded.Has(j.worker.Exit.TermSignal()):
		return reasonForwarded
	case requested:
		return reasonStop
	}
	return reasonExit
}

// ending are the fields of a line about an end.
func ending(reason string, status int) []logx.Field {
	return []logx.Field{logx.Value("reason", reason), logx.Value("status", status)}
}

// workersEnd are those of a line about the worker's.
func (j *Journal) workersEnd() []logx.Field { return ending(j.reason(), j.worker.Exit.ExitStatus()) }

// Killing names each process that is about to be killed, at the end of the grace period or by a force-stop.
// After the kill it can't be read.
func (j *Journal) Killing(k Kill, left Left) {
	switch {
	case k.Forced && k.Asker != "":
		j.why, j.killedBy = reasonForce, "drainit stop --force"
		j.Say(killAsked, k.Asker, j.states(left), []logx.Field{logx.Value("reason", j.why)})
		return
	case k.Forced:
		j.why, j.killedBy = reasonSecondStop, "second stop signal, force-stop"
		j.Say(killForced, j.states(left), []logx.Field{logx.Value("reason", j.why)})
		return
	}
	j.why = reasonGrace
	grace, hint := j.machine.Grace(), ""
	drains := func(p *proc.Process) bool { return !p.Ignores(j.machine.StopSignal()) }
	if _, requested := j.machine.Requested(); !requested {
		grace = min(grace, machine.CrashGrace)
	} else if slices.ContainsFunc(left.All, drains) {
		hint = "; --grace gives more time"
	}
	j.killedBy = fmt.Sprintf("grace period of %v over", grace)
	j.Say(killGrace, grace, j.states(left), hint, []logx.Field{logx.Value("reason", j.why)})
}

// End writes the last line: how long the stop took, how the worker ended, which processes were killed and why.
// After a kill it is the termination message, too. Its level is debug if the worker ended by itself and left no
// process, with status 0 or on a terminal, where a person sees that.
func (j *Journal) End(status int, killed Kill, onTerminal bool) {
	if j.stuck {
		killed = Kill{}
	}
	fields := append(ending(j.reason(), status), fieldsOf(j.worker)...)
	if len(killed.Victims) > 0 {
		fields = append(fields, logx.Value("killed", len(killed.Victims)))
	}
	told, words := killed.Happened(), j.ended(killed, status)
	took := time.Since(j.StopBegan())
	lasted := phrase{logx.Round(took), []logx.Field{logx.Value("duration_s", logx.InTenths(took))}}
	switch _, requested := j.machine.Requested(); {
	case requested:
		j.last(endOfStop, told, lasted, words, fields, fieldsOf(Came(j.machine.StopSignal())))
	case j.exited:
		j.last(endOfLeft, told, lasted, words, fields)
	case !told && (status == 0 || onTerminal):
		j.last(endAsPlanned, told, words, fields)
	default:
		j.last(endOfWorker, told, words, fields)
	}
}

// ended are the worker's end, what was killed, and the exit status where that is another than the worker's.
// A worker that drainit killed is named once. One that leaves at once may have drained nothing.
func (j *Journal) ended(killed Kill, status int) string {
	var parts []string
	gone, exit := j.worker.Gone(), j.worker.Exit
	isVictim := slices.ContainsFunc(killed.Victims, func(p *proc.Process) bool { return p.PID == j.worker.PID })
	if gone && !(exit.TermSignal() == unix.SIGKILL && isVictim) {
		end := j.worker.String() + " " + exit.String()
		if since, requested := j.machine.Requested(); requested && exit.ExitStatus() == 0 && !exit.At.Before(since) && exit.At.Sub(since) <= 100*time.Millisecond {
			end += " (left within 0.1s of the stop signal)"
		}
		parts = append(parts, end)
	}
	if killed.Happened() {
		parts = append(parts, fmt.Sprintf("killed %s (%s)", killed.names(), j.killedBy))
	}
	if !gone || exit.TermSignal() != 0 || exit.ExitStatus() != status {
		parts = append(parts, fmt.Sprintf("exit status %d", status))
	}
	return strings.Join(parts, "; ")
}
