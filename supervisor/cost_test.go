package supervisor

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
)

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
		{"node(a b)", "node exits 0", 1, 1, 0}, // it has daemonized, and may have been pm2 start
	} {
		inBubble(t, "--forking=1", tt.tree, func(b *bubble) {
			b.play(tt.script + "; 9999ms")
			before := b.cost()
			b.after(time.Millisecond)
			now := b.cost()
			if now.reads-before.reads != tt.reads || now.snapshots-before.snapshots != tt.snapshots {
				t.Errorf("%s: %+v, before %+v, want %d reads and %d snapshots", tt.tree, now, before, tt.reads, tt.snapshots)
			}
			const warning = "warning: sh[1] does not forward signals, so drainit sends the stop signal to node["
			b.wantLines(tt.lines, warning)
			b.play("TERM") // the same warning is not repeated
			b.wantLines(tt.lines, warning)
		})
	}
}

// Where the death of each parent will be known, a drain takes a snapshot soon after the signal, then ever
// more rarely until it takes one with each line of progress, and each second of the last call. Elsewhere it
// takes one a second, and ten a second then.
func TestSnapshotsOfADrain(t *testing.T) {
	for blind, of := range map[bool]struct{ before, then int }{false: {10, 4}, true: {23, 45}} {
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
				t.Errorf("blind %v: %d snapshots in the first 4.5s of the last call, want %d", blind, got, want)
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
				t.Errorf("%d snapshots of %v in %v, want %d at most, and nearly so many", got, slow, during, most)
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
					t.Errorf("%d children have not been waited for as %s is acted upon, want %d", left, name, rest)
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
