package journal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/proc"
	"drainit/internal/worker"
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

// reason is why the worker ended, or was killed.
func (j *Journal) reason() worker.Reason {
	_, requested := j.machine.Requested()
	return j.worker.Reason(requested)
}

// ending are the fields of a line about an end.
func ending(reason worker.Reason, status int) []logx.Field {
	return []logx.Field{reasonField(reason), logx.Value("status", status)}
}

func reasonField(reason worker.Reason) logx.Field { return logx.Value("reason", string(reason)) }

// workersEnd are the fields of a line about the worker's end.
func (j *Journal) workersEnd() []logx.Field { return ending(j.reason(), j.worker.Exit.ExitStatus()) }

// Killing names each process that is about to be killed, at the end of the grace period or by a force-stop.
// After the kill it can't be read.
func (j *Journal) Killing(living Living) {
	hint, why := "", []logx.Field{reasonField(j.reason())}
	_, requested := j.machine.Requested()
	drains := func(p *proc.Process) bool { return !p.Ignores(j.machine.StopSignal()) }
	if requested && slices.ContainsFunc(living.All, drains) {
		hint = "; --grace gives more time"
	}
	switch j.worker.Kill.Reason {
	case worker.ReasonForce:
		j.Say(killAsked, j.worker.Kill.Asker, j.states(living), why)
	case worker.ReasonSecondStop:
		j.Say(killForced, j.states(living), why)
	default:
		j.Say(killGrace, j.worker.Kill.Grace, j.states(living), hint, why)
	}
}

// End writes the last line: how long the stop took, how the worker ended, which processes were killed and why.
// After a kill it is the termination message, too. Its level is debug if the worker ended by itself and left no
// process, with status 0 or on a terminal, where a person sees that.
func (j *Journal) End(status int, onTerminal bool) {
	killed := j.worker.Kill
	if killed.Stuck {
		killed = worker.Kill{}
	}
	fields := append(ending(j.reason(), status), fieldsOf(j.worker)...)
	if len(killed.Victims) > 0 {
		fields = append(fields, logx.Value("killed", len(killed.Victims)))
	}
	told, words := killed.Happened(), j.ended(&killed, status)
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
func (j *Journal) ended(killed *worker.Kill, status int) string {
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
		parts = append(parts, fmt.Sprintf("killed %s (%s)", victims(killed), cause(killed)))
	}
	if !gone || exit.TermSignal() != 0 || exit.ExitStatus() != status {
		parts = append(parts, fmt.Sprintf("exit status %d", status))
	}
	return strings.Join(parts, "; ")
}

// victims names those of a kill.
func victims(k *worker.Kill) string {
	if k.Unseen {
		return "what was left"
	}
	return names(k.Victims)
}

// cause says why they were killed.
func cause(k *worker.Kill) string {
	switch k.Reason {
	case worker.ReasonForce:
		return "drainit stop --force"
	case worker.ReasonSecondStop:
		return "second stop signal, force-stop"
	}
	return fmt.Sprintf("grace period of %v over", k.Grace)
}
