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
// After the kill they can't be read. sig is the stop signal that processes are sent. More time helps those
// that handle it, if none is left that ignores it, got it late, or was refused it.
func (j *Journal) Killing(living Living, sig unix.Signal) {
	hint := ""
	handles := func(p *proc.Process) bool { return p.Handles(sig) }
	isInTheWay := func(p *proc.Process) bool {
		d, _ := j.history.StopTo(p.PID)
		return p.Ignores(sig) || d.Late || d.Refused
	}
	switch kill := j.worker.Kill; {
	case kill.Reason == machine.ReasonSecondStop:
		hint = "; with --second-stop ignore only drainit stop --force does so"
	case !kill.Forced() && j.machine.Requested() && slices.ContainsFunc(living.All, handles) &&
		!slices.ContainsFunc(living.All, isInTheWay):
		hint = "; --grace gives more time"
	}
	j.Say(killing, j.killedWhy(), living, hint)
}

// killedWhy returns words for the reason of the kill.
func (j *Journal) killedWhy() string {
	switch j.worker.Kill.Reason {
	case machine.ReasonForce:
		return "RTMAX, drainit stop --force"
	case machine.ReasonSecondStop:
		return "second stop signal, force-stop"
	}
	return fmt.Sprintf("grace period of %v over", j.machine.Grace())
}

// End writes the last line: how long the stop took, how the worker ended, which processes were killed and
// why. status is drainit's exit status, and onTerminal says that a person sees the end of the worker. The
// level is debug if the worker ended by itself, left no process, and has status 0 or is on a terminal.
func (j *Journal) End(status int, onTerminal bool) {
	killed := j.worker.Kill
	if killed.Stuck {
		killed = worker.Kill{}
	}
	m, after, took, victims := ended, "", any(nil), any(nil)
	if n := len(killed.Victims); n > 0 {
		victims = n
	}
	if j.machine.Requested() || j.exited {
		lasted := time.Since(j.StopBegan())
		after, took = " after "+logx.Round(lasted), logx.InTenths(lasted)
	} else if !killed.Happened() && (status == 0 || onTerminal) {
		m = endAsPlanned
	}
	j.Say(m, after, j.ended(&killed, status), took, status, victims, j.machine.StopSignal())
}

// ended returns words about the worker's end, about what was killed, and about the exit status, unless the
// worker has exited with that. A worker that drainit killed is named once. If drainit ends with 0 within
// 0.2 s of the stop signal, and the worker within 0.1 s, the words say so: it may have drained nothing.
func (j *Journal) ended(killed *worker.Kill, status int) string {
	var parts []string
	gone, exit := j.worker.Gone(), j.worker.Exit
	isWorker := func(p *proc.Process) bool { return p.PID == j.worker.PID }
	if gone && !(exit.TermSignal() == unix.SIGKILL && slices.ContainsFunc(killed.Victims, isWorker)) {
		end := j.worker.String() + " " + exit.String()
		took, now := exit.At.Sub(j.machine.RequestedAt()), time.Since(j.machine.RequestedAt())
		inOrder := j.machine.Requested() && status == 0
		if inOrder && took >= 0 && took <= 100*time.Millisecond && now <= 200*time.Millisecond {
			end += " (left within 0.1s of the stop signal)"
		}
		isShellsWord := exit.TermSignal() == 0 && exit.ExitStatus() == 128+9 // on its child
		if isShellsWord && !killed.Happened() {
			end += " (128+9: SIGKILL: out of memory, a limit, or a kill from outside)"
		}
		parts = append(parts, end)
	}
	if killed.Happened() {
		victims := names(killed.Victims)
		if killed.Unread {
			victims = "what was left"
		}
		parts = append(parts, fmt.Sprintf("killed %s (%s)", victims, j.killedWhy()))
	}
	if !gone || exit.TermSignal() != 0 || exit.ExitStatus() != status {
		parts = append(parts, fmt.Sprintf("exit status %d", status))
	}
	return strings.Join(parts, "; ")
}

// reason returns why the worker ended, or why it was killed.
func (j *Journal) reason() worker.Reason {
	kill, exit := &j.worker.Kill, j.worker.Exit
	switch {
	case kill.Began() && (kill.Happened() || j.machine.Phase() == machine.Killing):
		return kill.Reason
	case exit != nil && exit.By != 0 && !exit.IsSent():
		return worker.ReasonOutside
	case exit != nil && exit.By != 0 && !exit.Stop:
		return worker.ReasonForwarded
	case j.machine.Requested():
		return worker.ReasonStop
	}
	return worker.ReasonExit
}
