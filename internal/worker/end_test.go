package worker

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/reaper"
)

func TestReason(t *testing.T) {
	term := signals.SetOf(unix.SIGTERM)
	by := func(status unix.WaitStatus) *Exit { return &Exit{WaitEvent: reaper.WaitEvent{Status: status}} }
	for _, tt := range []struct {
		name            string
		exit            *Exit
		sent, forwarded signals.Set
		requested       bool
		killed          Kill
		want            Reason
	}{
		{"it exits by itself", by(exited(0)), 0, 0, false, Kill{}, ReasonExit},
		{"it exits in a stop", by(exited(0)), term, 0, true, Kill{}, ReasonStop},
		{"it lives in a stop", nil, term, 0, true, Kill{}, ReasonStop},
		{"it dies of drainit's stop signal", by(died(unix.SIGTERM)), term, 0, true, Kill{}, ReasonStop},
		{"of one that drainit did not send", by(died(unix.SIGTERM)), 0, 0, false, Kill{}, ReasonOutside},
		{"of another one in a stop", by(died(unix.SIGKILL)), term, 0, true, Kill{}, ReasonOutside},
		{"of one that drainit forwarded", by(died(unix.SIGTERM)), term, term, false, Kill{}, ReasonForwarded},
		{"it is killed", by(died(unix.SIGKILL)), term, 0, true, Kill{Reason: ReasonGrace}, ReasonGrace},
		{"it is killed by a second stop signal", nil, term, 0, true, Kill{Reason: ReasonSecondStop}, ReasonSecondStop},
	} {
		w := &Worker{PID: 7, Sent: tt.sent, Forwarded: tt.forwarded, Exit: tt.exit, Kill: tt.killed}
		if got := w.Reason(tt.requested); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestKill(t *testing.T) {
	victims := []*proc.Process{{}}
	for _, tt := range []struct {
		k                       Kill
		began, forced, happened bool
	}{
		{Kill{}, false, false, false},
		{Kill{Asker: "process 7"}, false, false, false},
		{Kill{Reason: ReasonGrace}, true, false, false},
		{Kill{Reason: ReasonGrace, Unseen: true}, true, false, true},
		{Kill{Reason: ReasonSecondStop, Victims: victims}, true, true, true},
		{Kill{Reason: ReasonForce, Victims: victims}, true, true, true},
	} {
		if tt.k.Began() != tt.began || tt.k.Forced() != tt.forced || tt.k.Happened() != tt.happened {
			t.Errorf("%+v: began %t, forced %t, happened %t", tt.k, tt.k.Began(), tt.k.Forced(), tt.k.Happened())
		}
	}
}
