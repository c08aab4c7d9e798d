package program

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// runtime is what runs a program, and has handlers of its own, whatever the program has.
type runtime struct {
	name     string
	programs string      // by name; "" for any
	signs    signals.Set // it handles these, and another program of its name does not
	own      signals.Set // these handlers are its own: nearly no program drains on these signals
	may      signals.Set // these may be its own
}

// Sets of signals: those above SYS, and the faults with PIPE and QUIT.
const realTime, faults signals.Set = 1<<64 - 1<<31, 0x14cc

// runtimes are as /proc/PID/status shows them (SigCgt). Go does nothing on PWR and on the signals above SYS.
// Its QUIT may be the program's, as in GitLab Runner. PHP's own handlers for INT and QUIT end it. No program
// but one in Go handles STKFLT.
var runtimes = []runtime{
	{"go", "", signals.SetOf(unix.SIGSTKFLT, unix.SIGURG), realTime | signals.SetOf(unix.SIGPWR), goSignals},
	{"java", "", faults, 0, signals.SetOf(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)},
	{"php", "php", signals.SetOf(unix.SIGTERM), signals.SetOf(unix.SIGINT, unix.SIGQUIT), 0x4a07},
	{"node", "node nodejs MainThread bun deno", 0, 0, signals.SetOf(unix.SIGINT, unix.SIGTERM)},
	{"python", "python pypy", 0, 0, signals.SetOf(unix.SIGINT)},
	{"ruby", "ruby", 0, 0, 0x6a07},
}

func runtimeOf(p *proc.Process) runtime {
	name := withoutVersion(cmp.Or(p.Exe, p.Comm))
	i := slices.IndexFunc(runtimes, func(r runtime) bool {
		isNamed := r.programs == "" || slices.Contains(strings.Fields(r.programs), name)
		return isNamed && p.Handled&r.signs == r.signs
	})
	if i < 0 {
		return runtime{}
	}
	return runtimes[i]
}

// HandlerIsRuntimes reports whether the handler of a process for a signal is its runtime's own, as nearly no
// program drains on it.
func HandlerIsRuntimes(p *proc.Process, sig unix.Signal) bool {
	both := p.Handles(sig) && p.Handles(unix.SIGTERM) && p.MasksKnown()
	return both && runtimeOf(p).own.Has(sig)
}

// DrainsOn reports whether a process handles a signal by a handler that is surely its program's.
func DrainsOn(p *proc.Process, sig unix.Signal) bool {
	r := runtimeOf(p)
	return p.Handles(sig) && !(r.own | r.may).Has(sig)
}

// ExitsBy reports whether a runtime exits with a status by its own handler for a signal. The others die of
// the signal.
func ExitsBy(p *proc.Process, sig unix.Signal, status int) bool {
	switch r := runtimeOf(p); r.name {
	case "go":
		return sig == unix.SIGQUIT && status == 2 // after a dump
	case "java":
		return sig != unix.SIGQUIT && r.may.Has(sig) && status == 128+int(sig)
	}
	return false
}
