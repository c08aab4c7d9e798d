package term

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// Only a worker that died of Ctrl-C, or of what drainit sent it for that, has drainit end by INT: and
// never PID 1, which is no job of a shell.
func TestRecordExit(t *testing.T) {
	const none, hup, interrupt = unix.Signal(0), unix.SIGHUP, unix.SIGINT
	const quit, term = unix.SIGQUIT, unix.SIGTERM
	for _, tt := range []struct {
		by, requested, deliver unix.Signal
		sent                   bool
		want                   bool
	}{
		{none, none, none, false, false},
		{none, interrupt, interrupt, true, false}, // it handled that
		{interrupt, interrupt, interrupt, true, true},
		{interrupt, interrupt, interrupt, false, false}, // of another's
		{quit, interrupt, quit, true, true},
		{term, interrupt, interrupt, true, true}, // for a shell
		{hup, interrupt, interrupt, true, false},
		{term, term, term, true, false},
		{interrupt, none, none, false, false}, // it does not have the terminal
	} {
		j := &Job{tty: new(Terminal), suspended: true}
		j.RecordExit(tt.by, tt.requested, tt.deliver, tt.sent)
		if j.Interrupted() != (tt.want && os.Getpid() != 1) || j.suspended || j.exited != (tt.by == none) ||
			j.mustInterruptGroup {
			t.Errorf("%+v: %+v", tt, j)
		}
	}
	var noTerminal *Job
	noTerminal.RecordExit(interrupt, interrupt, interrupt, true)
	if noTerminal.Interrupted() || noTerminal.Granted() || noTerminal.HungUp() ||
		noTerminal.Known(interrupt) {
		t.Error("no terminal is one")
	}
}

type owner struct{ members []*proc.Process }

func (o owner) MaySuspend() bool              { return true }
func (o owner) Members(int) []*proc.Process   { return o.members }
func (o owner) SignalGroup(unix.Signal) error { return nil }

// Where /proc does not show the group, what is known of the worker counts.
func TestGroupStopped(t *testing.T) {
	stopped, running := &proc.Process{State: 'T'}, &proc.Process{State: 'S'}
	for _, tt := range []struct {
		members   []*proc.Process
		suspended bool
		want      bool
	}{
		{nil, false, false}, {nil, true, true}, {[]*proc.Process{running}, true, false},
		{[]*proc.Process{running, stopped}, false, true},
	} {
		j := NewJob(new(Terminal), nil, owner{tt.members})
		if j.suspended = tt.suspended; j.GroupStopped() != tt.want {
			t.Errorf("%v, suspended %t: %t", tt.members, tt.suspended, j.GroupStopped())
		}
	}
	if NewJob(nil, nil, owner{}) != nil {
		t.Error("there is a job without a terminal")
	}
}
