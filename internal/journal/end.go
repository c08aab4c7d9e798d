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

// Kill is the kill at the end of a stop.
type Kill struct {
	Why     string // "" where nothing was killed
	Victims string // their names, "" where none was alive
	Count   int    // of them, 0 where that is not known
}

// Unnamed stands for victims that /proc does not show.
const Unnamed = "what was left"

// Killing names each process that is about to be killed, at the end of the grace or by a
// force-stop: it can't be asked afterwards.
func (j *Journal) Killing(forced bool, left Left) Kill {
	k := Kill{Why: "second stop signal, force-stop", Victims: names(left.All), Count: len(left.All)}
	hint := "; with --second-stop ignore only drainit stop --force does so"
	if !forced {
		grace := j.machine.Grace()
		drains := func(p *proc.Process) bool { return !p.Ignores(j.machine.StopSignal()) }
		_, requested := j.machine.Requested()
		if !requested {
			grace = min(grace, machine.CrashGrace)
		}
		k.Why, hint = fmt.Sprintf("grace period of %v over", grace), ""
		if requested && slices.ContainsFunc(left.All, drains) {
			hint = "; --grace gives more time"
		}
	}
	if left.Err != nil {
		k.Victims = Unnamed
	}
	j.Warn("%s: killing %v%s", k.Why, left.states(), hint)
	return k
}

// End is the last line: how long it took, how the worker ended, what was killed and why; it
// is the termination message, too, of a kill. There is none where the worker ended by itself
// and left nothing.
func (j *Journal) End(killed Kill, status int) {
	since, requested := j.machine.Requested()
	if !requested && !j.exited {
		return
	}
	if !requested {
		since = j.worker.Exit.At
	}
	if j.stuck {
		killed = Kill{}
	}
	took := time.Since(since)
	fields := []logx.Field{logx.Value("status", status), logx.Value("duration_s", logx.InTenths(took))}
	words := fmt.Sprintf("stopped %s after %s", logx.Round(took), j.ended(killed))
	if requested {
		words = strings.TrimSuffix(fmt.Sprintf("stopped after %s: %s", logx.Round(took), j.ended(killed)), ": ")
		fields = append(fields, fieldsOf(j.machine.StopSignal())...)
	}
	if !j.worker.Gone() || j.worker.Exit.TermSignal() != 0 || j.worker.Exit.ExitStatus() != status {
		words += fmt.Sprintf("; exit status %d", status)
	}
	if killed.Count > 0 {
		fields = append(fields, logx.Value("killed", killed.Count))
	}
	j.info("%v", phrase{words, fields})
	if killed.Victims != "" {
		j.Message = words
	}
}

// ended are the worker's end and what was killed. A worker that drainit killed is named once.
func (j *Journal) ended(killed Kill) string {
	var parts []string
	if j.worker.Gone() && !(j.worker.Exit.TermSignal() == unix.SIGKILL && strings.Contains(killed.Victims, j.worker.String())) {
		parts = append(parts, j.worker.String()+" "+j.worker.HowExited())
	}
	if killed.Victims != "" {
		parts = append(parts, fmt.Sprintf("killed %s (%s)", killed.Victims, killed.Why))
	}
	return strings.Join(parts, "; ")
}
