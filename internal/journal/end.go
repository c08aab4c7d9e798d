package journal

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/signals"
)

// The lines of the end: what is killed, and what drainit ends with.

// Leaving is a worker that has exited, with which drainit ends.
func (j *Journal) Leaving(left Left) {
	if left.Err != nil || len(left.All) > 0 {
		j.info(j.aboutWorker(left.count()), "%v %s: killing %v, as --forward worker says", j.worker, j.worker.HowExited(), left)
	}
}

// GraceOver is why a kill begins at the end of a grace.
func (j *Journal) GraceOver() string {
	grace := j.machine.Grace()
	if _, requested := j.machine.Requested(); !requested {
		grace = min(grace, machine.CrashGrace)
	}
	return fmt.Sprintf("grace period of %v over", grace)
}

// ForceStop is why a kill begins before.
const ForceStop = "second stop signal, force-stop"

// Kill is the kill at the end of a stop.
type Kill struct {
	Why     string // "" where nothing was killed
	At      time.Time
	Victims string // their names, "" where none was alive
	Count   int    // of them, 0 where that is not known
	Any     bool   // something alive was to be killed
}

// Unseen notes victims that /proc does not show.
func (k *Kill) Unseen() { k.Victims, k.Any = "what was left", true }

// Killing names each process that is about to be killed: it can't be asked afterwards.
func (j *Journal) Killing(k *Kill, now time.Time, why string, left Left) {
	if k.Why == "" {
		k.Why, k.At = why, now
	}
	names := "what is left" // it is ending or hidden from us
	switch {
	case left.Err != nil:
		k.Unseen()
	case len(left.All) > 0:
		k.Victims, k.Count, k.Any = left.names(), len(left.All), true
		names = logx.List(left.All, logx.WithState)
	}
	j.warn([]logx.Field{left.count()}, "%s: killing %s", why, names)
}

// Stuck names the processes that outlived SIGKILL.
func (j *Journal) Stuck(left Left) {
	what := ": killed processes have not exited"
	switch {
	case left.Err != nil:
		what = ", and what is still alive can't be seen: " + left.Err.Error()
	case len(left.All) > 0:
		what = ", still alive: " + logx.List(left.All, logx.WithState)
	}
	j.error([]logx.Field{left.count()}, "leaving %v after SIGKILL%s", machine.KillingTime, what)
}

// End is the last line: how long it took, how the worker ended, what was killed and why.
// There is none where the worker ended by itself and left nothing.
func (j *Journal) End(killed Kill, status int) {
	since, requested := j.machine.Requested()
	begins, how := "stopped after %s", ": "
	if !requested {
		begins, how = "stopped %s after ", ""
		if j.worker.Gone() {
			since = j.worker.Exit.At
		}
	}
	j.noteKill(killed, since, requested)
	if !requested && !j.said[exitReported] {
		return
	}
	took := time.Since(since)
	msg := fmt.Sprintf(begins, logx.Round(took))
	if parts := j.ended(killed); len(parts) > 0 {
		msg += how + strings.Join(parts, "; ")
	}
	if !j.worker.Gone() || j.worker.Exit.TermSignal() != 0 || j.worker.Exit.ExitStatus() != status {
		msg += fmt.Sprintf("; exit status %d", status)
	}
	fields := []logx.Field{logx.Number("status", status), logx.Seconds("duration_s", took)}
	if requested {
		fields = append(fields, of(j.machine.StopSignal())...)
	}
	if killed.Victims != "" && killed.Count > 0 {
		fields = append(fields, logx.Number("killed", killed.Count))
	}
	j.info(fields, "%s", msg)
}

// noteKill makes the termination message of a kill.
func (j *Journal) noteKill(killed Kill, since time.Time, requested bool) {
	if killed.Victims == "" {
		return
	}
	after := j.worker.String() + " exited"
	if requested {
		after = signals.Name(j.machine.StopSignal())
	}
	j.message = fmt.Sprintf("%s: killed %s %.1fs after %s", killed.Why, killed.Victims, killed.At.Sub(since).Seconds(), after)
}

// ended are the worker's end and what was killed. A worker that drainit killed is named once.
func (j *Journal) ended(killed Kill) (parts []string) {
	if j.worker.Gone() && !(j.worker.Exit.TermSignal() == unix.SIGKILL && strings.Contains(killed.Victims, j.worker.String())) {
		parts = append(parts, j.worker.String()+" "+j.worker.HowExited())
	}
	if killed.Victims != "" {
		parts = append(parts, fmt.Sprintf("killed %s (%s)", killed.Victims, killed.Why))
	}
	return parts
}
