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
	"drainit/internal/worker"
)

// The lines of the end: what is killed, and what drainit ends with.

// StopBegan returns when the stop was requested or, if it was not, when the worker exited.
func (j *Journal) StopBegan() time.Time {
	if !j.machine.Requested() && j.worker.Gone() {
		return j.worker.Exit.At
	}
	return j.machine.RequestedAt()
}

// Killing names the processes that are about to be killed, at the end of the grace period or by a force-stop.
// After the kill they can't be read.
func (j *Journal) Killing(living Living) {
	hint, stop := "", j.machine.StopSignal()
	drains := func(p *proc.Process) bool { return !p.Ignores(stop) && !j.Said(refused, p.ID) }
	if j.machine.Requested() && slices.ContainsFunc(living.All, drains) {
		hint = "; --grace gives more time"
	}
	switch j.worker.Kill.Reason {
	case worker.ReasonForce:
		j.Say(killAsked, j.states(living), Reason)
	case worker.ReasonSecondStop:
		j.Say(killForced, j.states(living), Reason)
	default:
		j.Say(killGrace, j.machine.Grace(), j.states(living), hint, Reason)
	}
}

// Stuck writes which processes outlived SIGKILL.
func (j *Journal) Stuck(living Living) {
	j.Say(stillAlive, machine.KillingTime, j.states(living), Reason)
}

// End writes the last line: how long the stop took, how the worker ended, which processes were killed and
// why. status is drainit's exit status, and onTerminal says that a person sees the end of the worker. The
// level is debug if the worker ended by itself, left no process, and has status 0 or is on a terminal.
func (j *Journal) End(status int, onTerminal bool) {
	killed := j.worker.Kill
	if killed.Stuck {
		killed = worker.Kill{}
	}
	m, facts := endOfWorker, []any{j.ended(&killed, status), Reason, Status(status), j.worker}
	if n := len(killed.Victims); n > 0 {
		facts = append(facts, field{"killed", n})
	}
	requested := j.machine.Requested()
	switch {
	case requested:
		m, facts = endOfStop, append(facts, Came(j.machine.StopSignal()))
	case j.exited:
		m = endOfLeft
	case !killed.Happened() && (status == 0 || onTerminal):
		m = endAsPlanned
	}
	if requested || j.exited {
		took := time.Since(j.StopBegan())
		lasted := Phrase{logx.Round(took), []any{field{"duration_s", logx.InTenths(took)}}}
		facts = append([]any{lasted}, facts...)
	}
	j.Say(m, facts...)
}

// ended returns words about the worker's end, about what was killed, and about the exit status, unless the
// worker has exited with that. A worker that drainit killed is named once. A worker that exits with 0 within
// 0.1 s of the stop signal may have drained nothing, and the words tell that it did.
func (j *Journal) ended(killed *worker.Kill, status int) string {
	var parts []string
	gone, exit := j.worker.Gone(), j.worker.Exit
	isWorker := func(p *proc.Process) bool { return p.PID == j.worker.PID }
	if gone && !(exit.TermSignal() == unix.SIGKILL && slices.ContainsFunc(killed.Victims, isWorker)) {
		end := j.worker.String() + " " + exit.String()
		took := exit.At.Sub(j.machine.RequestedAt())
		inOrder := j.machine.Requested() && exit.ExitStatus() == 0
		if inOrder && took >= 0 && took <= 100*time.Millisecond {
			end += " (left within 0.1s of the stop signal)"
		}
		if exit.TermSignal() == 0 && exit.ExitStatus() == 128+9 && !killed.Happened() { // a shell's word on its child
			end += " (128+9: SIGKILL: out of memory, a limit, or a kill from outside)"
		}
		parts = append(parts, end)
	}
	if killed.Happened() {
		parts = append(parts, j.kill(killed))
	}
	if !gone || exit.TermSignal() != 0 || exit.ExitStatus() != status {
		parts = append(parts, fmt.Sprintf("exit status %d", status))
	}
	return strings.Join(parts, "; ")
}

// kill returns words about which processes were killed, and why.
func (j *Journal) kill(k *worker.Kill) string {
	victims, why := names(k.Victims), fmt.Sprintf("grace period of %v over", j.machine.Grace())
	if k.Unseen {
		victims = "what was left"
	}
	switch k.Reason {
	case worker.ReasonForce:
		why = "RTMAX, drainit stop --force"
	case worker.ReasonSecondStop:
		why = "second stop signal, force-stop"
	}
	return fmt.Sprintf("killed %s (%s)", victims, why)
}
