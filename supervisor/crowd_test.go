package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/signals"
)

// crowded is a shell that dies of TERM with so many jobs below it.
func crowded(jobs int, does on) *process {
	sh := newProcess("sh", nil)
	sh.Fatal = signals.SetOf(unix.SIGTERM)
	for range jobs {
		sh.below = append(sh.below, newProcess("job", does))
	}
	return sh
}

// Many jobs of a worker that dies of the signal get it by one call, if none of them can have
// come since the snapshot and the worker has ended; else one by one. Each gets it once.
func TestManyJobsAreSignalledAtOnce(t *testing.T) {
	const jobs = 40
	calls := "0s TERM sh; 0s TERM" + strings.Repeat(" job", jobs)
	oneByOne := "0s TERM sh; 0s TERM job x40"
	fork := func(w *world, at unix.Signal) {
		w.onSend = func(d forward.Delivery) {
			if d.Signal == at && d.Process.PID == w.worker.PID && d.Target == forward.ToProcess {
				w.start(newProcess("other", on{unix.SIGTERM: exits(0, 0)}))
			}
		}
	}
	for _, tt := range []struct {
		name  string
		setUp func(w *world)
		sent  string
	}{
		{"one call", func(*world) {}, calls},
		// One of the jobs may have started it, and have signalled it.
		{"a process has come since the snapshot", func(w *world) { fork(w, unix.SIGTERM) }, oneByOne},
		{"the kernel does not say whether one has", func(w *world) { w.countless = true }, oneByOne},
		{"the worker is stuck", func(w *world) { w.worker.State, w.worker.on = 'D', on{unix.SIGTERM: stays} },
			"0s TERM sh; 20.1ms TERM job x40"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			setUp := func(w *world) {
				w.worker = crowded(jobs, on{unix.SIGTERM: exits(0, time.Minute)})
				tt.setUp(w)
			}
			inBubble(t, config(), setUp, func(b *bubble) {
				b.arrive(unix.SIGTERM)
				b.after(time.Second)
				b.wantSent(tt.sent)
				b.wantLines(1, fmt.Sprintf("stopping: SIGTERM sent to sh[%d] and %d more;", firstPID, jobs))
			})
		})
	}
}

// What is stopped would not see the signal: of a crowd the snapshot tells what is.
func TestTheStoppedOfACrowdAreContinued(t *testing.T) {
	worker := crowded(40, quick)
	worker.below[7].State = 'T'
	inBubble(t, config(), with(worker), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantEnd(143, 0)
		b.wantSent("0s TERM sh; 0s TERM" + strings.Repeat(" job", 40) + "; 0s CONT job")
	})
}
