package program

import (
	"cmp"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// runtime is what runs a program, and has handlers of its own, whatever the program has.
type runtime struct {
	name  string
	signs signals.Set // what handles these is of this runtime; 0: its executable shows it (interpreters)
	own   signals.Set // these handlers are its own: nearly no program drains on these signals
	may   signals.Set // these may be its own
}

// runtimes are as /proc/PID/status shows them (SigCgt). Go does nothing on PWR and on the signals above SYS.
// Its QUIT may be the program's, as in GitLab Runner. No program but one in Go handles STKFLT, and none but a
// JVM all faults, PIPE and QUIT. PHP's own handlers for INT and QUIT end it.
var runtimes = []runtime{
	{"go", signals.SetOf(unix.SIGSTKFLT, unix.SIGURG), 1<<64 - 1<<31 | signals.SetOf(unix.SIGPWR), goSignals},
	{"java", 0x14cc, 0, signals.SetOf(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM)},
	{"php", 0, signals.SetOf(unix.SIGINT, unix.SIGQUIT), 0x4a07},
	{"node", 0, 0, signals.SetOf(unix.SIGINT, unix.SIGTERM)},
	{"python", 0, 0, signals.SetOf(unix.SIGINT)},
	{"ruby", 0, 0, 0x6a07},
}

func runtimeOf(p *proc.Process) runtime {
	name := interpreters[withoutVersion(cmp.Or(p.Exe, p.Comm))]
	for _, r := range runtimes {
		if p.Handled&r.signs == r.signs && (r.signs != 0 || r.name == name) {
			return r
		}
	}
	return runtime{}
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
