package diag

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// A death by the stop signal shows that a process at work has no handler, for certain or if it comes at once; one that
// tells by its status that a child died shows it of that.
func TestDeaths(t *testing.T) {
	const termed = 128 + int(unix.SIGTERM)
	gone := func(int) (proc.Process, error) { return proc.Process{}, errors.New("it has gone") }
	lives := func(int) (proc.Process, error) { return proc.Process{State: 'S'}, nil }
	app, node, tsx := made(10, 1, "app"), made(10, 1, "node app.js", unix.SIGTERM), made(10, 1, "node tsx", unix.SIGTERM)
	job := made(11, 10, "app")
	hidden := proc.Process{ID: proc.ID{PID: 10}}
	for _, tt := range []struct {
		name            string
		p               proc.Process
		below           []proc.Process
		by              unix.Signal
		status          int
		after           time.Duration
		read            func(int) (proc.Process, error)
		pid             int // of the one that lacks it, 0 for none
		certain, atOnce bool
	}{
		{"without a handler", app, nil, unix.SIGTERM, termed, 0, gone, 10, true, true},
		{"on a busy machine", app, nil, unix.SIGTERM, termed, time.Second, gone, 10, true, true},
		{"much later", app, nil, unix.SIGTERM, termed, 2 * time.Second, gone, 10, true, false},
		{"of Node, at once", node, nil, unix.SIGTERM, termed, 100 * time.Millisecond, gone, 10, false, true},
		{"of Node, later", node, nil, unix.SIGTERM, termed, 200 * time.Millisecond, gone, 10, false, false},
		{"of a worker that /proc hides", hidden, nil, unix.SIGTERM, termed, 0, gone, 10, false, true},
		{"by another signal", app, nil, unix.SIGINT, 130, 0, gone, 0, false, false},
		{"its child's, by its status", tsx, []proc.Process{job}, 0, termed, 500 * time.Millisecond, gone, 11, true, true},
		{"of a child that lives", tsx, []proc.Process{job}, 0, termed, 0, lives, 0, false, false},
		{"of no child", tsx, nil, 0, termed, 0, gone, 0, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d Deaths
				if d.Sent(proc.New(append(tt.below, tt.p)), tt.p, unix.SIGTERM, true) {
					t.Error("it ignores the signal")
				}
				time.Sleep(tt.after)
				l, ok := d.Ended(10, tt.by, tt.status, "app", tt.read)
				if !ok {
					l = Lacking{}
				}
				if l.PID != tt.pid || ok && (l.Certain != tt.certain || l.AtOnce != tt.atOnce || l.Sent.PID != 10 || l.Signal != unix.SIGTERM) {
					t.Errorf("%t: %+v", ok, l)
				}
				if _, ok := d.Ended(10, tt.by, tt.status, "app", tt.read); ok {
					t.Error("it is said twice")
				}
			})
		})
	}
}

// What is not at work, and is not the worker, tells nothing by its death.
func TestDeathOfAHelper(t *testing.T) {
	helper := made(11, 10, "app")
	for _, atWork := range []bool{false, true} {
		var d Deaths
		if atWork {
			d.AtWork = []proc.Process{helper}
		}
		d.Sent(proc.New([]proc.Process{helper}), helper, unix.SIGTERM, false)
		if _, ok := d.Ended(11, unix.SIGTERM, 143, "", nil); ok != atWork {
			t.Errorf("at work: %t, noted: %t", atWork, ok)
		}
	}
}

func TestIgnoringIsNoted(t *testing.T) {
	p := made(10, 1, "app")
	p.Ignored = 1 << (unix.SIGTERM - 1)
	if d := new(Deaths); !d.Sent(proc.New([]proc.Process{p}), p, unix.SIGTERM, true) {
		t.Error("it is not said that it ignores the signal")
	}
}
