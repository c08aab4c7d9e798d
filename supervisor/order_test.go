package supervisor

import (
	"fmt"
	"slices"
	"strings"
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
		"": "[sh: 1 snapshots in 50ms, 0 lines, drainit:drain" +
			" node: 2 snapshots in 250ms, 3 lines, drainit:drain]",
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
					order = append(order, fmt.Sprintf("%s: %d snapshots in %v, %d lines, %s", d.Process.Comm,
						b.cost().snapshots, b.w.within, len(b.info()), b.s.public.title))
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

// A snapshot of a stop is compared with its first.
func TestSnapshotsOfAStopAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(""), "sh(node[TERM=0/2s])")
		b.start()
		b.loop()
		defer b.close()
		b.play("TERM; 1s")
		if b.w.since == nil {
			t.Error("a snapshot is compared with none")
		}
	})
}

// The signal that a platform will send is the first that is not dropped.
func TestPlatformSignal(t *testing.T) {
	for flags, want := range map[string]unix.Signal{
		"": unix.SIGTERM, "--rewrite TERM:0": unix.SIGINT, "--rewrite TERM:QUIT": unix.SIGTERM,
		"--stop-signal QUIT": unix.SIGQUIT, "--stop-signal QUIT --rewrite QUIT:0": unix.SIGTERM,
	} {
		if got := configOf(flags).PlatformSignal(); got != want {
			t.Errorf("%q: %v, want %v", flags, got, want)
		}
	}
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

// cost is what the loop has done so far: snapshots of all processes, reads of one, and calls of Wait.
type cost struct{ snapshots, reads, waits int }

func (b *bubble) cost() (c cost) {
	b.w.locked(func() { c = b.w.did })
	return c
}

// Idle costs nothing: once the worker was inspected, nothing wakes the loop for a day, and no timer is set.
func TestIdleCostsNothing(t *testing.T) {
	for _, script := range []string{"", "TSTP", "TSTP; CONT; 50ms"} {
		inBubble(t, "", "node[TSTP,CONT,TERM=0]", func(b *bubble) {
			b.play(script + "; 11s")
			if at, ok := b.s.machine.Deadline(); ok {
				t.Errorf("after %q: a deadline in %v", script, time.Until(at))
			}
			b.handOver()
			before := b.cost()
			time.Sleep(24 * time.Hour)
			b.settle()
			if now := b.cost(); now != before {
				t.Errorf("after %q: %+v, a day before %+v", script, now, before)
			}
		})
	}
}

// The worker is inspected once, after 10s: of one that is no shell, one file is read.
func TestInspection(t *testing.T) {
	for _, tt := range []struct {
		tree, script            string
		reads, snapshots, lines int
	}{
		{"node[TERM=0](job[TERM=0])", "", 1, 0, 0},
		{"sh(node[TERM=0])", "", 1, 1, 1},
		{"sh[TERM=0](node[TERM=0])", "", 1, 0, 0},
		{"sh", "", 1, 1, 0},
		{"sh(node[TERM=0])", "proc gone", 1, 0, 0},
		{"node(a b)", "node exits 0", 1, 0, 0}, // it has daemonized
	} {
		inBubble(t, "--forking=1", tt.tree, func(b *bubble) {
			b.play(tt.script + "; 9999ms")
			before := b.cost()
			b.after(time.Millisecond)
			now := b.cost()
			if now.reads-before.reads != tt.reads || now.snapshots-before.snapshots != tt.snapshots {
				t.Errorf("%s: %+v, before %+v, want %d reads and %d snapshots", tt.tree, now, before,
					tt.reads, tt.snapshots)
			}
			const warning = "warning: sh[1] does not forward signals, " +
				"so drainit sends the stop signal to node["
			b.wantLines(tt.lines, warning)
			b.play("TERM") // the same warning is not repeated
			b.wantLines(tt.lines, warning)
		})
	}
}

// A drain takes a snapshot soon after the signal, then ever more rarely: where the death of each parent will
// be known, until it takes one with each line of progress, and each second of the last call, elsewhere until
// it takes one a second.
func TestSnapshotsOfADrain(t *testing.T) {
	for blind, of := range map[bool]struct{ before, then int }{false: {16, 4}, true: {29, 4}} {
		inBubble(t, "", "node[TERM]", func(b *bubble) {
			b.w.blind = blind
			b.play("TERM; 22s")
			const atStop = 1
			if got, want := b.cost().snapshots, atStop+of.before; got != want {
				t.Errorf("blind %v: %d snapshots in 22s, want %d", blind, got, want)
			}
			cost := b.cost().snapshots
			b.after(5 * time.Second)
			if got, want := b.cost().snapshots-cost, of.then+1; got < want || got > want+2 {
				t.Errorf("blind %v: %d snapshots in the first 4.5s of the last call, want %d",
					blind, got, want)
			}
			b.wantLines(5, "draining, 1 process left (node[1]), SIGKILL in ")
			b.wantLines(1, "draining, 1 process left (node[1]), SIGKILL in 15s")
		})
	}
}

// Snapshots for orphans take a fifth of the time of a drain at most, however long each takes and however
// many children exit. Those for the lines of progress come beside them.
func TestSnapshotsTakeAFifthOfTheTime(t *testing.T) {
	for _, slow := range []time.Duration{100 * time.Millisecond, time.Second} {
		inBubble(t, "--grace infinity", strings.Repeat("child ", 330)+"node[TERM]", func(b *bubble) {
			for i, child := range b.w.procs[:330] {
				time.AfterFunc(10*time.Second+time.Duration(i)*100*time.Millisecond, func() { child.exit(0) })
			}
			b.after(9900 * time.Millisecond)
			b.w.slow = slow
			b.arrive(unix.SIGTERM, time.Since(b.began))
			b.after(2 * time.Second)
			before := b.cost().snapshots
			const during = 30 * time.Second
			b.after(during)
			progress := int(during / (5 * time.Second))
			most := int(during/(5*slow)) + progress
			if got := b.cost().snapshots - before; got > most || got < most-progress-2 {
				t.Errorf("%d snapshots of %v in %v, want %d at most, and nearly so many", got,
					slow, during, most)
			}
		})
	}
}

// A stop signal is acted upon after one batch of children, another signal after the most that are waited for.
func TestSignalBetweenTwoBatches(t *testing.T) {
	for name, most := range map[string]int{"TERM": reapBatch, "WINCH": reapMost} {
		synctest.Test(t, func(t *testing.T) {
			const rest = 10
			b := open(t, configOf(""), strings.Repeat("child ", most+rest)+"node[TERM]")
			b.start()
			defer b.close()
			b.w.onSend = func(forward.Delivery) {
				if left := len(b.w.changes); left != rest {
					t.Errorf("%d children have not been waited for as %s is acted upon, want %d",
						left, name, rest)
				}
			}
			for _, child := range b.w.ever[:most+rest] {
				child.exit(0)
			}
			b.comes(sigNamed(name))
			b.loop()
			b.wantSent("0s " + name + " node")
			if len(b.w.procs) != 1 {
				t.Errorf("%d processes are left", len(b.w.procs))
			}
		})
	}
}
