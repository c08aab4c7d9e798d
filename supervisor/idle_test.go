package supervisor

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/phase"
)

// cost is what the loop has done so far.
type cost struct{ snapshots, reads, waits int }

func (b *bubble) cost() cost {
	b.w.mu.Lock()
	defer b.w.mu.Unlock()
	return cost{b.w.snapshots, b.w.reads, b.w.waits}
}

// Idle costs nothing: once the worker was inspected, nothing wakes the loop for a day, and
// no timer is set.
func TestIdleCostsNothing(t *testing.T) {
	for name, into := range map[string]func(*bubble){
		"running": func(*bubble) {},
		"quiet":   func(b *bubble) { b.other(unix.SIGTSTP) },
		"running again": func(b *bubble) {
			b.other(unix.SIGTSTP)
			b.other(unix.SIGCONT)
			b.after(machine.ResumeAfter)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(newProcess("node", quietly())), func(b *bubble) {
				into(b)
				b.after(11 * time.Second)
				if at, ok := b.s.machine.Deadline(); ok {
					t.Errorf("a deadline in %v", time.Until(at))
				}
				b.handOver()
				before := b.cost()
				time.Sleep(24 * time.Hour)
				b.settle()
				if now := b.cost(); now != before {
					t.Errorf("%+v in a day", cost{now.snapshots - before.snapshots, now.reads - before.reads, now.waits - before.waits})
				}
			})
		})
	}
}

// The worker is inspected once, after 10s: of one that is no shell, one file is read.
func TestInspection(t *testing.T) {
	for _, tt := range []struct {
		name      string
		worker    *process
		proc      procState
		reads     int
		snapshots int
		lines     int
	}{
		{"a program", newProcess("node", quick, newProcess("job", quick)), procThere, 1, 0, 0},
		{"a shell", newProcess("sh", nil, newProcess("node", quick)), procThere, 1, 1, 1},
		{"a shell with a trap", newProcess("sh", quick, newProcess("node", quick)), procThere, 1, 0, 0},
		{"a shell with no child", newProcess("sh", nil), procThere, 1, 1, 0},
		{"no /proc", newProcess("sh", nil, newProcess("node", quick)), procGone, 1, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, config(), with(tt.worker), func(b *bubble) {
				b.w.proc = tt.proc
				b.after(9999 * time.Millisecond)
				before := b.cost()
				b.after(time.Millisecond)
				now := b.cost()
				if now.reads-before.reads != tt.reads || now.snapshots-before.snapshots != tt.snapshots {
					t.Errorf("%+v, before %+v, want %d reads and %d snapshots", now, before, tt.reads, tt.snapshots)
				}
				b.wantLines(tt.lines, "warning: sh[4194305] does not forward signals, so drainit sends the stop signal to node[")
				b.stop(unix.SIGTERM) // the same warning is not repeated
				b.wantLines(tt.lines, "warning: sh[4194305] does not forward")
			})
		})
	}
}

// What has daemonized is no worker to be inspected.
func TestNoInspectionOfAWorkerThatHasGone(t *testing.T) {
	inBubble(t, forking(), with(daemonizes()), func(b *bubble) {
		b.w.worker.exit(0)
		b.settle()
		before := b.cost()
		b.after(10 * time.Second)
		if now := b.cost(); now.reads != before.reads || now.snapshots != before.snapshots {
			t.Errorf("%+v, before %+v", now, before)
		}
	})
}

// Where the death of each parent will be known, a drain takes a snapshot soon after the signal, then
// ever more rarely until it takes one with each line of progress, and each second of the last 5s.
// Elsewhere it takes one a second, and ten a second then.
func TestSnapshotsOfADrain(t *testing.T) {
	for blind, of := range map[bool]struct{ before, then int }{false: {10, 4}, true: {25, 45}} {
		snapshotsOfADrain(t, blind, of.before, of.then)
	}
}

func snapshotsOfADrain(t *testing.T, blind bool, before, then int) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.w.blind = blind
		b.stop(unix.SIGTERM)
		b.after(24500 * time.Millisecond)
		const atStop = 1
		if got, want := b.cost().snapshots, atStop+before; got != want {
			t.Errorf("blind %v: %d snapshots in 24.5s, want %d", blind, got, want)
		}
		cost := b.cost().snapshots
		b.after(5 * time.Second)
		if got, want := b.cost().snapshots-cost, then+1; got < want || got > want+2 {
			t.Errorf("blind %v: %d snapshots in the first 4.5s of the last call, want %d", blind, got, want)
		}
		b.wantLines(5, "draining, 1 process left (node[4194305]), SIGKILL in ")
		b.wantLines(1, "draining, 1 process left (node[4194305]), SIGKILL in 15s")
	})
}

// Snapshots for orphans take a fifth of the time of a drain at most, however long each
// takes and however many children exit. Those for the lines of progress come beside them.
func TestSnapshotsTakeAFifthOfTheTime(t *testing.T) {
	cfg := config()
	cfg.Grace = machine.Forever
	for _, slow := range []time.Duration{100 * time.Millisecond, time.Second} {
		inBubble(t, cfg, func(w *world) {
			w.worker = newProcess("node", never)
			for i := range 330 {
				w.start(newProcess("child", nil)).exitAfter(10*time.Second + time.Duration(i)*100*time.Millisecond)
			}
		}, func(b *bubble) {
			b.after(9900 * time.Millisecond)
			b.w.slow = slow
			b.arrive(unix.SIGTERM)
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

// Many children that exit at once are one snapshot in a drain, and none before it; all are
// waited for, and take the signals of between in.
func TestManyChildrenExitAtOnce(t *testing.T) {
	const many = 600
	children := make([]*process, many)
	start := func(w *world) {
		w.worker = newProcess("node", never)
		for i := range children {
			children[i] = w.start(newProcess("child", nil))
		}
	}
	exit := func(b *bubble) {
		b.w.mu.Lock()
		for _, p := range children {
			p.end(0)
		}
		b.w.mu.Unlock()
		b.settle()
	}
	for name, stop := range map[string]bool{"draining": true, "running": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), start, func(b *bubble) {
				if stop {
					b.stop(unix.SIGTERM)
					b.after(500 * time.Millisecond)
				}
				b.w.onRead = func(pid int) {
					if left := len(b.w.changes); pid == 0 && left > 0 {
						t.Errorf("a snapshot while %d have not been waited for", left)
					}
				}
				before := b.cost()
				exit(b)
				now := b.cost()
				if want := map[bool]int{true: 1}[stop]; now.snapshots-before.snapshots != want {
					t.Errorf("%d snapshots, want %d", now.snapshots-before.snapshots, want)
				}
				if len(b.w.procs) != 1 || now.waits-before.waits < many {
					t.Errorf("%d processes are left, after %d waits", len(b.w.procs), now.waits-before.waits)
				}
			})
		})
	}
}

// A stop signal is acted upon between two batches of children.
func TestStopBetweenTwoBatches(t *testing.T) {
	inBubble(t, config(), func(w *world) {
		w.worker = newProcess("node", never)
		for range 2 * reapBatch {
			w.start(newProcess("child", nil))
		}
	}, func(b *bubble) {
		b.w.onSend = func(forward.Delivery) {
			if left := len(b.w.changes); left == 0 || left > 2*reapBatch-reapBatch {
				t.Errorf("%d children have not been waited for as the stop signal is acted upon", left)
			}
		}
		b.w.mu.Lock()
		b.arrive(unix.SIGTERM)
		for _, p := range b.w.procs[:2*reapBatch] {
			p.end(0)
		}
		b.w.mu.Unlock()
		b.settle()
		b.wantSent("0s TERM node")
		if len(b.w.procs) != 1 {
			t.Errorf("%d processes are left", len(b.w.procs))
		}
	})
}

// The signal goes out first; whatever is written about it is composed behind it. Each Send
// waits until the log is idle, and notes how many lines there are.
func TestSignalFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, config(), with(newProcess("sh", nil, newProcess("node", slow))))
		b.start()
		defer b.close()
		var order []string
		b.w.onSend = func(d forward.Delivery) {
			synctest.Wait()
			order = append(order, fmt.Sprintf("%s, %d warnings, %s", d.Process.Comm, len(b.lines("warning")), b.s.title))
			if n := len(b.lines("stopping")) + len(b.lines("sent SIGTERM to sh")); d.Process.Comm == "sh" && n > 0 {
				t.Errorf("%d lines before the signal", n)
			}
		}
		b.arrive(unix.SIGTERM)
		b.s.loop()
		synctest.Wait()
		close(b.ended)
		if want := "[sh, 0 warnings, drainit:drain node, 1 warnings, drainit:drain]"; fmt.Sprint(order) != want {
			t.Errorf("%v, want %s", order, want)
		}
		b.wantLines(1, "warning: sh[4194305] does not forward signals, so drainit sends the stop signal to node[")
		b.wantLines(1, "stopping: SIGTERM sent to sh[4194305]; what still runs after 30s is killed")
	})
}

// A snapshot is taken before the signal goes out: the dead can't be asked.
func TestSnapshotBeforeTheSignal(t *testing.T) {
	inBubble(t, config(), with(newProcess("sh", nil, newProcess("node", never))), func(b *bubble) {
		var order []string
		b.w.onRead = func(pid int) { order = append(order, fmt.Sprint("snapshot ", pid)) }
		b.w.onSend = func(d forward.Delivery) { order = append(order, "signal") }
		b.stop(unix.SIGTERM)
		if len(order) < 2 || order[0] != "snapshot 0" || order[1] != "signal" {
			t.Errorf("%v", order)
		}
		b.wantPhase(phase.Draining)
	})
}
