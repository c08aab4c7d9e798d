package machine

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// FuzzMachine feeds random events at random times and checks what must hold
// whatever happens. Two bytes are one event and the time before it.
func FuzzMachine(f *testing.F) {
	f.Add(uint8(30), uint8(0), []byte{0, 0, 1, 3, 1, 1})
	f.Add(uint8(0), uint8(0), []byte{0, 0, 1, 3})
	f.Add(uint8(255), uint8(2), []byte{0, 0, 5, 9, 1, 30, 8, 255, 8, 255})
	f.Fuzz(func(t *testing.T, grace, stopDelay uint8, events []byte) {
		m := New(fuzzConfig(grace, stopDelay))
		r := record{t: t, m: m}
		now := clock0
		for len(events) >= 2 {
			now = now.Add(time.Duration(events[1]) * 20 * time.Millisecond)
			kind := EventKind(events[0] % uint8(TimePassed+1))
			events = events[2:]
			if kind == WorkerExited && r.exited {
				continue // it dies once
			}
			r.step(now, Event{Kind: kind, Signal: unix.SIGTERM})
		}
		r.finish(now)
	})
}

// fuzzConfig has the flags in the highest bits of the stop delay.
func fuzzConfig(grace, stopDelay uint8) Config {
	return Config{
		Grace: fuzzGrace(grace), StopDelay: time.Duration(stopDelay&0x3f) * time.Second / 4,
		SecondStopIgnored: stopDelay&0x40 != 0, EndsWithWorker: stopDelay&0x80 != 0,
	}
}

func fuzzGrace(g uint8) time.Duration {
	if g == 255 {
		return Forever
	}
	return time.Duration(g) * time.Second / 4
}

// record checks one step against all before it.
type record struct {
	t         *testing.T
	m         *Machine
	exited    bool
	signalled int
	dones     int
	inspected int
	resuming  bool // a CONT waits
}

func (r *record) step(now time.Time, e Event) {
	before := r.m.Phase()
	actions := r.m.Step(now, e)
	after := r.m.Phase()
	r.exited = r.exited || e.Kind == WorkerExited && before != phase.Starting
	if after < before && !(before == phase.Quiet && after == phase.Running) {
		r.t.Fatalf("%v went back to %v", before, after)
	}
	if after == phase.Done && before != phase.Done {
		r.dones++
	}
	r.checkActions(before, after, actions)
	r.resuming = after == phase.Quiet && e.Kind != QuietSignaled && (r.resuming || e.Kind == ResumeSignaled)
	r.checkDeadline(now, after)
}

func (r *record) checkActions(before, after phase.Phase, actions []Action) {
	for _, a := range actions {
		switch a.Kind {
		case SignalWorker:
			if r.signalled++; r.signalled > 1 || r.exited || after != phase.Draining {
				r.t.Fatalf("signal %d to the worker in %v, which has gone: %v", r.signalled, after, r.exited)
			}
		case KillTree:
			if after != phase.Killing {
				r.t.Fatalf("a kill in %v", after)
			}
		case SignalOrphans, LastCall, FinalCall:
			if r.signalled == 0 && !r.exited || after != phase.Draining {
				r.t.Fatalf("orphans signalled in %v, the worker %d times, which has gone: %v", after, r.signalled, r.exited)
			}
		case Inspect:
			if r.inspected++; r.inspected > 1 || after > phase.Quiet {
				r.t.Fatalf("inspection %d in %v", r.inspected, after)
			}
		case PassThrough, QuietWorker, ResumeWorker:
			if after == phase.Killing || after == phase.Done {
				r.t.Fatalf("action %d in %v", a.Kind, after)
			}
		}
	}
	if before == phase.Done && len(actions) > 0 {
		r.t.Fatalf("actions %v when done", actions)
	}
}

func (r *record) checkDeadline(now time.Time, p phase.Phase) {
	_, ok := r.m.Deadline()
	want := p == phase.Draining || p == phase.Killing || r.resuming || r.inspected == 0 && (p == phase.Running || p == phase.Quiet)
	if ok != want {
		r.t.Fatalf("a deadline in %v: %v", p, ok)
	}
}

// deadlines are more than come in the longest drain and kill of this test: a snapshot
// each second of 64, one each 100 ms of the last 5 s, a line each 5 s, and a pass
// each 50 ms of 5 s.
const deadlines = 400

// finish lets time pass. A kill must come to an end of its own; a drain must,
// unless its grace is infinite.
func (r *record) finish(now time.Time) {
	for range deadlines {
		d, ok := r.m.Deadline()
		if !ok {
			break
		}
		if d.After(now) {
			now = d
		}
		r.step(now, Event{Kind: TimePassed})
	}
	_, bounded := r.m.GraceEnd()
	switch p := r.m.Phase(); {
	case p == phase.Killing, p == phase.Draining && bounded:
		r.t.Fatalf("still %v after %d deadlines", p, deadlines)
	case p == phase.Done && r.dones != 1:
		r.t.Fatalf("done %d times", r.dones)
	}
}
