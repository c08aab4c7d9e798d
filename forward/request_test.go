package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// A signal that would end a process is meant as the stop where no process handles it, and one handles the
// stop signal.
func TestMeansStop(t *testing.T) {
	const quit, int2, term = unix.SIGQUIT, unix.SIGINT, unix.SIGTERM
	const golang = signals.Set(0xfffffffd7fc1feff) // what a program in Go handles
	process := func(comm string, pid, ppid int, handled ...unix.Signal) proc.Process {
		return shownAs(comm, pid, ppid, 10, signals.SetOf(handled...))
	}
	app, idle := process("app", 10, drainitPID, term), process("idle", 11, 10)
	ignoring := app
	ignoring.Ignored = signals.SetOf(quit)
	for name, tt := range map[string]struct {
		sig   unix.Signal
		named bool
		all   []proc.Process
		want  bool
	}{
		"no process handles it": {quit, false, []proc.Process{app}, true},
		"the user has named it": {quit, true, []proc.Process{app}, true},
		"one handles it": {
			quit, false, []proc.Process{process("app", 10, drainitPID, term, quit)}, false},
		"one below handles it": {
			quit, false, []proc.Process{app, process("job", 11, 10, quit)}, false},
		"Go's own handler": {
			quit, false, []proc.Process{shownAs("app", 10, drainitPID, 10, golang)}, true},
		"that, and the user has named it": {
			quit, true, []proc.Process{shownAs("app", 10, drainitPID, 10, golang)}, false},
		"one ignores it":                    {quit, false, []proc.Process{ignoring}, false},
		"one ignores it, and one would die": {quit, false, []proc.Process{ignoring, idle}, true},
		"no process handles the stop": {
			quit, false, []proc.Process{process("app", 10, drainitPID)}, false},
		"a shell does, without a trap": {
			quit, false, []proc.Process{process("mksh", 10, drainitPID, term)}, false},
		"a shell's own handler of INT": {
			int2, false, []proc.Process{process("bash", 10, drainitPID, term, int2), idle}, true},
		"a program's handler of INT": {
			int2, false, []proc.Process{process("app", 10, drainitPID, term, int2), idle}, false},
		"the stop itself":          {term, false, []proc.Process{app, idle}, false},
		"a watchdog's":             {unix.SIGABRT, false, []proc.Process{app}, false},
		"one that ends no process": {unix.SIGWINCH, false, []proc.Process{app}, false},
	} {
		if got := MeansStop(drainitPID, tt.sig, term, tt.named, proc.New(tt.all)); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A snapshot is taken where the plan depends on more than the worker.
func TestNeedsTree(t *testing.T) {
	const lives, gone, runsOn = 0, 1, 2
	for name, tt := range map[string]struct {
		worker  int
		purpose Purpose
		mode    Mode
		sig     unix.Signal
		want    bool
	}{
		"a stop":                            {lives, Stop, ModeAuto, unix.SIGTERM, true},
		"a stop of the group":               {lives, Stop, ModeGroup, unix.SIGTERM, true},
		"a stop of the worker alone":        {lives, Stop, ModeWorker, unix.SIGTERM, false},
		"that, and it has gone":             {gone, Stop, ModeWorker, unix.SIGTERM, true},
		"that, in the final call":           {gone, FinalCall, ModeWorker, unix.SIGTERM, false},
		"the final call":                    {lives, FinalCall, ModeAuto, unix.SIGTERM, true},
		"another signal":                    {lives, PassThrough, ModeAuto, unix.SIGHUP, true},
		"another signal to the worker":      {lives, PassThrough, ModeWorker, unix.SIGHUP, false},
		"one that would stop the worker":    {lives, PassThrough, ModeWorker, unix.SIGTTIN, true},
		"another signal, and it has gone":   {gone, PassThrough, ModeAuto, unix.SIGHUP, false},
		"that, and it runs on in its child": {runsOn, PassThrough, ModeWorker, unix.SIGHUP, true},
		"quiet":                             {lives, Quiet, ModeWorker, unix.SIGTSTP, true},
		"a resume":                          {lives, Resume, ModeAuto, unix.SIGCONT, false},
	} {
		h := NewHistory(drainitPID, tt.worker == runsOn)
		h.Started(10)
		if tt.worker != lives {
			h.Exited(10, 0)
		}
		if got := h.NeedsTree(Request{Purpose: tt.purpose, Mode: tt.mode, Signal: tt.sig}); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
