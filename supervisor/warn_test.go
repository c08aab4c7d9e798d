package supervisor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
)

// Each program that was signalled and had no handler is named once, what a shell started among
// them; what a script waits with is not.
func TestNoHandlerBehindAShell(t *testing.T) {
	inBubble(t, config(), with(newProcess("sh", nil, newProcess("a", slow), newProcess("b", nil), newProcess("b", nil), newProcess("sleep", nil), newProcess("c", nil))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.end()
		b.wantLines(1, "warning: b[4194307] has no SIGTERM handler: it died at once")
		b.wantLines(1, "warning: c[4194310] has no SIGTERM handler: it died at once")
		b.wantLines(1, "warning: sh[4194305] does not forward signals")
		b.wantLines(3, "warning")
	})
}

// A death that comes later tells nothing: the process may have had the signal blocked.
func TestNoHandlerShowsAtOnce(t *testing.T) {
	for after, want := range map[time.Duration]int{time.Millisecond: 1, time.Second: 1, 2 * time.Second: 0} {
		dies := newProcess("b", on{unix.SIGTERM: func(p *process) { time.AfterFunc(after, func() { p.dies(unix.SIGTERM) }) }})
		dies.Handled = 0
		inBubble(t, config(), with(newProcess("sh", nil, newProcess("a", slow), dies)), func(b *bubble) {
			b.stop(unix.SIGTERM)
			b.end()
			b.wantLines(want, "warning: b[4194307] has no SIGTERM handler")
			b.wantLines(0, "warning: b[4194307] died of SIGTERM at once")
		})
	}
}

// An orphan of a shell that was signalled later is named, too; what a worker with a handler
// leaves is that worker's business.
func TestNoHandlerOfOrphans(t *testing.T) {
	for name, want := range map[string]int{"sh": 1, "node": 0} {
		t.Run(name, func(t *testing.T) {
			leaves := exits(0, time.Second)
			wrapper := newProcess("go", on{unix.SIGTERM: leaves}, newProcess("job", nil))
			wrapper.Args = []string{"go", "run"}
			if name == "node" {
				wrapper = newProcess("node", on{unix.SIGTERM: leaves}, newProcess("job", nil))
			}
			inBubble(t, config(), with(wrapper), func(b *bubble) {
				b.stop(unix.SIGTERM)
				b.after(2 * time.Second)
				b.end()
				b.wantLines(want, "warning: job[4194306] has no SIGTERM handler")
			})
		})
	}
}

// A runtime that always shows a handler has none of its program's where it dies of the
// signal at once.
func TestDeathAtOnce(t *testing.T) {
	dies := func(after time.Duration) reaction {
		return func(p *process) { time.AfterFunc(after, func() { p.dies(unix.SIGTERM) }) }
	}
	for _, tt := range []struct {
		name   string
		mode   forward.Mode
		worker *process
		want   int
	}{
		{"at once", forward.ModeAuto, newProcess("node", on{unix.SIGTERM: dies(time.Millisecond)}), 1},
		{"later", forward.ModeAuto, newProcess("node", on{unix.SIGTERM: dies(101 * time.Millisecond)}), 0},
		{"it exits", forward.ModeAuto, newProcess("node", on{unix.SIGTERM: exits(143, time.Millisecond)}), 0},
		{"another program", forward.ModeAuto, newProcess("ruby", on{unix.SIGTERM: dies(time.Millisecond)}), 0},
		{"the worker alone, of which nothing is read", forward.ModeWorker, newProcess("ruby", nil), 1},
		{"the worker alone, a shell", forward.ModeWorker, newProcess("sh", nil), 0},
		{"the worker alone, that exits", forward.ModeWorker, newProcess("ruby", on{unix.SIGTERM: exits(0, time.Millisecond)}), 0},
		{"named already", forward.ModeAuto, newProcess("node", nil), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, inMode(tt.mode), with(tt.worker), func(b *bubble) {
				b.after(time.Second)
				b.stop(unix.SIGTERM)
				b.after(time.Second)
				b.end()
				b.wantLines(tt.want, "warning: "+tt.worker.Comm+"[4194305] died of SIGTERM at once: it may have no handler of its own")
			})
		})
	}
}

// Nothing is read before the signal to a worker that gets it alone.
func TestWorkerAloneIsSignalledUnread(t *testing.T) {
	inBubble(t, inMode(forward.ModeWorker), with(newProcess("node", slow)), func(b *bubble) {
		b.settle()
		before := b.cost()
		b.w.onSend = func(forward.Delivery) {
			if now := b.cost(); now.reads != before.reads || now.snapshots != before.snapshots {
				t.Errorf("%+v before the signal", now)
			}
			b.w.onSend = nil
		}
		b.stop(unix.SIGTERM)
		b.end()
		b.wantSent("0s TERM node")
	})
}

// PM2 ends its processes after a time of its own.
func TestPM2(t *testing.T) {
	inBubble(t, config(), with(newProcess("npx", nil, newProcess("PM2 v6.0.14: Go", slow))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.end()
		b.wantLines(1, "PM2 kills its processes 1.6s after the stop signal, unless PM2_KILL_TIMEOUT")
	})
}
