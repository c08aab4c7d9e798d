package supervisor

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
)

// The snapshot is taken before the signal goes out, for the dead can't be asked, but none for a worker that
// gets it alone. Whatever is written about it is composed after it: each Send waits until the log is idle.
func TestSignalFirst(t *testing.T) {
	for flags, want := range map[string]string{
		"":                 "[sh: 1 snapshots in 50ms, 0 lines, drainit:drain node: 2 snapshots in 250ms, 3 lines, drainit:drain]",
		"--forward worker": "[node: 0 snapshots in 0s, 0 lines, drainit:drain]",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, configOf(flags), "sh(node[TERM=0/2s])")
			b.start()
			defer b.close()
			reads := b.cost().reads
			var order []string
			b.w.onSend = func(d forward.Delivery) {
				synctest.Wait()
				if now := b.cost().reads; len(order) == 0 && now != reads {
					t.Errorf("%d reads before the signal", now-reads)
				}
				if d.Signal == unix.SIGTERM {
					order = append(order, fmt.Sprintf("%s: %d snapshots in %v, %d lines, %s", d.Process.Comm, b.cost().snapshots, b.w.within, len(b.info()), b.s.public.title))
				}
			}
			b.arrive(unix.SIGTERM, 0)
			b.s.loop()
			synctest.Wait()
			close(b.ended)
			if got := fmt.Sprint(order); got != want {
				t.Errorf("%v, want %s", got, want)
			}
			b.wantLines(1, "stopping: SIGTERM sent to ")
		})
	}
}

// The title of quiet says whether a process handles it: it waits for the snapshot that tells, and comes
// before the signal.
func TestTitleOfQuiet(t *testing.T) {
	inBubble(t, "", "sh(node[TSTP])", func(b *bubble) {
		var shown []string
		b.w.onRead = func(pid int) {
			if pid == 0 {
				shown = append(shown, "read: "+b.s.public.title)
			}
		}
		b.w.onSend = func(forward.Delivery) { shown = append(shown, "sent: "+b.s.public.title) }
		b.play("TSTP")
		if want := []string{"read: drainit:run", "sent: drainit:quiet"}; !slices.Equal(shown, want) {
			t.Errorf("the titles are %q, want %q", shown, want)
		}
		b.w.onSend = nil
	})
}

// With a file that says when the worker is ready, running is published once it is there, and no sooner after
// a quiet; from then on it counts no more. A stop does not wait for it. A worker that is not ready after 30 s gets
// a line, once, with what is awaited, and one when it is.
func TestReady(t *testing.T) {
	file := filepath.Join(t.TempDir(), "up")
	flag, not := "--ready-file "+file, "warning: not ready after"
	playRows(t, []row{
		{"its title", flag, "node[TSTP,CONT,TERM=0]", "is running; title drainit:startup; TSTP; 1h; title drainit:quiet; CONT; 50ms; title drainit:startup; " +
			"up; 1s; title drainit:run; down; TSTP; title drainit:quiet; CONT; 50ms; is running; title drainit:run", "*", "", nil},
		{"a stop does not wait for it", flag, "node[TERM=0/1s]", "50ms; TERM; title drainit:drain", "*", "0 1.05s", nil},
		{"late", flag, "node[TERM=0]", "29s; says 0 " + not + "; 2s; is running; title drainit:startup; 1h; says " + not + " 30s: there is no file " + file +
			"; up; 2s; title drainit:run; 1h; down", "*", "", []string{"ready after 1h0m"}},
		{"in time", flag, "node[TERM=0]", "20s; up; 2s; title drainit:run; 1h; down", "*", "", []string{"0 ready after", "0 " + not}},
		{"not awaited", "", "node[TERM=0]", "1h", "*", "", []string{"0 " + not}},
	})
}

// A process that has become another program since the snapshot is not sent what would stop it; nor is one
// that has gone, or that can't be read.
func TestQuietAsksOnceMore(t *testing.T) {
	for name, change := range map[string]func(*world){
		"another program": func(w *world) { w.worker.Handled = 0 },
		"another process": func(w *world) { w.worker.Start++ },
		"a zombie":        func(w *world) { w.worker.State = 'Z' },
		"not to be read":  func(w *world) { w.proc = procExhausted },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, "", "node[TSTP,TERM=0]", func(b *bubble) {
				read := 0
				b.w.onRead = func(int) {
					if read++; read == 2 { // the first is for the plan
						change(b.w)
					}
				}
				b.play("TSTP; says quiet: no new process")
				b.wantSent("")
				b.w.worker.State = 'S'
			})
		})
	}
}

// What has ended when a stop signal is taken, or when the grace is over, has ended before it, though CHLD is
// on its way still.
func TestExitComesFirst(t *testing.T) {
	for _, tt := range []struct {
		tree, before string
		stops        bool
		sent         string
	}{
		{"node[TERM](job[TERM=0])", "", true, "0s TERM job"},
		{"node[TERM]", "TERM; 29s", false, "0s TERM node"},
	} {
		inBubble(t, "", tt.tree, func(b *bubble) {
			b.play(tt.before)
			b.w.locked(func() {
				b.w.worker.end(unix.WaitStatus(6 << 8))
				b.w.queue.Take(0)
				if tt.stops {
					b.arrive(unix.SIGTERM, 0)
				}
			})
			time.Sleep(2 * time.Second)
			b.settle()
			b.play("is done")
			b.wantSent(tt.sent)
		})
	}
}

// A stop signal that comes while the loop is busy goes before another that came first.
func TestStopsGoFirst(t *testing.T) {
	inBubble(t, "", "node[TERM,TSTP,HUP]", func(b *bubble) {
		var first sync.Once
		b.w.onRead = func(int) { first.Do(func() { time.Sleep(time.Second) }) }
		b.play("HUP; TSTP; TERM; 2s; is draining") // HUP keeps the loop busy for a second
		b.wantSent("1s HUP node; 1s TERM node")
	})
}

// wait4 that fails is said, and drainit goes on.
func TestWaitFails(t *testing.T) {
	inBubble(t, "", "node[TERM=0/2s]", func(b *bubble) {
		b.w.waitErr = errors.New("wait4: bad address")
		b.w.queue.Put(unix.SIGCHLD)
		b.settle()
		b.play("is running; says error: cannot wait for children: wait4: bad address")
		b.w.waitErr = nil
		b.play("TERM")
		b.wantEnd("0 2s")
	})
}
