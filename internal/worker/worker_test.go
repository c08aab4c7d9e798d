package worker

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/reaper"
)

// exited and died are wait statuses (wait(2)).
func exited(code int) unix.WaitStatus       { return unix.WaitStatus(code << 8) }
func died(by unix.Signal) unix.WaitStatus   { return unix.WaitStatus(by) }
func dumped(by unix.Signal) unix.WaitStatus { return unix.WaitStatus(by) | 0x80 }

func TestExit(t *testing.T) {
	for status, want := range map[unix.WaitStatus]string{
		exited(0):            "exited with status 0: 0 0",
		exited(143):          "exited with status 143: 143 0",
		exited(255):          "exited with status 255: 255 0",
		died(unix.SIGTERM):   "died of SIGTERM: 143 15",
		dumped(unix.SIGSEGV): "died of SIGSEGV: 139 11",
		died(64):             "died of SIGRTMIN+30: 192 64",
	} {
		e := Exit{WaitEvent: reaper.WaitEvent{Status: status}}
		if got := fmt.Sprintf("%v: %d %d", e, e.ExitStatus(), e.TermSignal()); got != want ||
			!e.Terminated() {
			t.Errorf("%#x: %s, want %s", int(status), got, want)
		}
	}
}

// A worker that has been waited for is gone: its pid may be another's by now. One that has daemonized lives
// on.
func TestLifeOfAWorker(t *testing.T) {
	end := new(Exit)
	for _, tt := range []struct {
		w               Worker
		gone, alive, is bool
	}{
		{Worker{}, false, false, false},
		{Worker{PID: 7}, false, true, true},
		{Worker{PID: 7, Exit: end}, true, false, false},
		{Worker{PID: 7, Exit: end, Daemonized: true}, true, true, false},
		{Worker{PID: 8}, false, true, false},
	} {
		if tt.w.Gone() != tt.gone || tt.w.Alive() != tt.alive || tt.w.Is(7) != tt.is {
			t.Errorf("%+v: gone %t, alive %t, is 7 %t", tt.w, tt.w.Gone(), tt.w.Alive(), tt.w.Is(7))
		}
	}
	if w := (&Worker{PID: 7, Comm: "node"}); w.String() != "node[7]" || w.Process().PID != 7 ||
		w.Process().Start != 0 {
		t.Errorf("%v, %+v", w, w.Process())
	}
}

func TestKill(t *testing.T) {
	victims := []*proc.Process{{}}
	for _, tt := range []struct {
		k                       Kill
		began, forced, happened bool
	}{
		{Kill{}, false, false, false},
		{Kill{Reason: machine.ReasonGrace}, true, false, false},
		{Kill{Reason: machine.ReasonGrace, Unread: true}, true, false, true},
		{Kill{Reason: machine.ReasonSecondStop, Victims: victims}, true, true, true},
		{Kill{Reason: machine.ReasonForce, Victims: victims}, true, true, true},
	} {
		if tt.k.Began() != tt.began || tt.k.Forced() != tt.forced || tt.k.Happened() != tt.happened {
			t.Errorf("%+v: began %t, forced %t, happened %t", tt.k, tt.k.Began(), tt.k.Forced(),
				tt.k.Happened())
		}
	}
}

// A victim that did not die of SIGKILL was not killed, and what did may not have been seen before.
func TestKillWhoseVictimsEnd(t *testing.T) {
	for _, tt := range []struct {
		victims  int
		pid      int
		status   unix.WaitStatus
		happened bool
	}{
		{7, 7, died(unix.SIGKILL), true}, {7, 7, exited(0), false}, {7, 7, died(unix.SIGTERM), false},
		{7, 8, exited(0), true}, {0, 7, died(unix.SIGKILL), true}, {0, 7, exited(0), false},
	} {
		k := Kill{Reason: machine.ReasonGrace}
		if tt.victims != 0 {
			k.Victims = []*proc.Process{{ID: proc.ID{PID: tt.victims}}}
		}
		k.Ended(reaper.WaitEvent{PID: tt.pid, Status: tt.status})
		if k.Happened() != tt.happened {
			t.Errorf("%+v: %+v", tt, k)
		}
		k = Kill{}
		if k.Ended(reaper.WaitEvent{PID: tt.pid, Status: tt.status}); k.Happened() {
			t.Errorf("%+v, without a kill: %+v", tt, k)
		}
	}
}
