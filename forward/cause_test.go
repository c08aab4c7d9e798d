package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// What ended a process is the signal that it died of, or by which its runtime exits soon after it was sent
// that. None that was refused was sent.
func TestCause(t *testing.T) {
	const exited = 8 // the bits below the code, in a wait status
	const hup, quit, kill = unix.SIGHUP, unix.SIGQUIT, unix.SIGKILL
	for name, tt := range map[string]struct {
		exe     string
		sig     unix.Signal
		refused bool
		after   uint64
		status  unix.WaitStatus
		by      unix.Signal
		sent    bool
	}{
		"died of it":                 {"app", hup, false, 5, unix.WaitStatus(hup), hup, true},
		"died of another":            {"app", hup, false, 5, unix.WaitStatus(kill), kill, false},
		"died of it, refused":        {"app", hup, true, 5, unix.WaitStatus(hup), hup, false},
		"exited by itself":           {"app", hup, false, 5, 3 << exited, 0, false},
		"a status as of the signal":  {"app", hup, false, 5, 129 << exited, 0, false},
		"a JVM":                      {"java", hup, false, 5, 129 << exited, hup, true},
		"a JVM, much later":          {"java", hup, false, 100, 129 << exited, 0, false},
		"a JVM that was sent none":   {"java", hup, false, 5, 143 << exited, 0, false},
		"Go's dump":                  {"go", quit, false, 5, 2 << exited, quit, true},
		"Go's dump of another fault": {"go", hup, false, 5, 2 << exited, 0, false},
	} {
		p := proc.Process{ID: proc.ID{PID: 10, Start: 1}, Details: proc.Details{Exe: tt.exe}}
		p.Handled = map[string]signals.Set{"java": 0x5ccf, "go": 0x7fc1feff}[tt.exe]
		h := NewHistory(1, false)
		h.Started(10)
		h.Sent(Delivery{Process: p, Signal: tt.sig, Refused: tt.refused}, 1000)
		c := h.Cause(10, tt.status, 1000+tt.after)
		if c.By != tt.by || c.IsSent() != tt.sent || tt.sent && c.Process.Exe != tt.exe {
			t.Errorf("%s: %+v", name, c)
		}
	}
}
