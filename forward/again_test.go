package forward

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// Those that may not act upon the signal are looked at alone, as long as they are few. A
// snapshot is due if one can't, and mostly none is.
func TestWhetherASnapshotIsDueByAGlance(t *testing.T) {
	set := signals.SetOf(unix.SIGTERM)
	nothing := func(*proc.Process) {}
	for _, tt := range []struct {
		name   string
		worker string
		after  uint64
		now    func(*proc.Process)
		waits  bool
		want   bool
	}{
		{"an app acts", "app", 6, nothing, false, false},
		{"an app has not taken the signal", "app", 6, func(p *proc.Process) { p.Pending = set }, false, true},
		{"an app is about to", "app", 6, func(p *proc.Process) { p.Pending, p.State = set, 'R' }, false, false},
		{"an app ignores it by now", "app", 6, func(p *proc.Process) { p.Ignored = set }, false, true},
		{"an app has died", "app", 6, func(p *proc.Process) { p.State = 'Z' }, false, true},
		{"another has its pid", "app", 6, func(p *proc.Process) { p.Start++ }, false, true},
		{"a shell reads", "bash", 6, nothing, false, false},
		{"a shell may wait for its child", "bash", 6, nothing, true, true},
		{"an app has become a shell that may", "app", 6, func(p *proc.Process) { p.Exe = "bash" }, true, true},
		{"one ignores the signal", "ignores", 6, nothing, false, true},
		{"one blocks it", "blocks", 600, nothing, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := NewLedger(drainitPID)
			shown := kinfolk(kin{tt.worker, 10, 1}, kin{"app", 11, 10})
			sentAll(l, l.Plan(term(Stop), proc.New(shown)))
			w, ok := l.Glance(1000+tt.after, time.Time{})
			if got := fmt.Sprint(w.These, w.Signals, ok); got != "[10] [terminated] true" {
				t.Fatalf("looked at is %s", got)
			}
			worker := kinfolk(kin{tt.worker, 10, 1})[0]
			tt.now(&worker)
			s := proc.New([]proc.Process{worker}).With(proc.Details{MayWait: map[int]bool{10: tt.waits}})
			if got := l.Glanced(w, s); got != tt.want {
				t.Errorf("a snapshot is due: %v", got)
			}
		})
	}
}

// A shell with nothing below it that was not signalled may wait.
func TestShellMayWaitForThoseThatWereSignalled(t *testing.T) {
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(kinfolk(kin{"bash", 10, 1}, kin{"app", 11, 10}))))
	l.living[11].markSent(sent{signal: unix.SIGTERM})
	w, _ := l.Glance(1006, time.Time{})
	s := proc.New(kinfolk(kin{"bash", 10, 1})).With(proc.Details{MayWait: map[int]bool{10: true}})
	if len(w.These) != 1 || l.Glanced(w, s) {
		t.Errorf("a snapshot is due by %v", w.These)
	}
}

// Of more than 64, and of an orphan that is held, a glance does not tell.
func TestWhenAGlanceIsNotEnough(t *testing.T) {
	for _, many := range []int{64, 65} {
		family := []kin{{"app", 10, 1}}
		for i := range many - 1 {
			family = append(family, kin{"bash", 100 + i, 10}, kin{"app", 200 + i, 100 + i})
		}
		l := NewLedger(drainitPID)
		sentAll(l, l.Plan(term(Stop), proc.New(kinfolk(family...))))
		for _, m := range l.living {
			m.markSent(sent{signal: unix.SIGTERM, tick: 1000})
		}
		if w, ok := l.Glance(1006, time.Time{}); len(w.These) != many || ok != (many <= 64) {
			t.Errorf("%d of %d are to be looked at: %v", len(w.These), many, ok)
		}
	}
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(kinfolk(kin{"app", 10, 1}, kin{"app", 11, 10}))))
	l.living[11].heldSince = 1000
	for now, enough := range map[uint64]bool{1006: false, 1099: false, 1100: true} { // held is it for a second
		if w, ok := l.Glance(now, time.Time{}); ok != enough {
			t.Errorf("%v are to be looked at %d ticks after one was held: %v", w.These, now-1000, ok)
		}
	}
}

// Of several that may be deaf the one that was signalled last is looked at first.
func TestTheNextLookIsTheSoonest(t *testing.T) {
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(kinfolk(kin{"bash", 10, 1}, kin{"bash", 11, 10}, kin{"app", 12, 11}))))
	l.living[11].markSent(sent{signal: unix.SIGTERM, tick: 400})
	if got := l.Recheck(1600); got != 3*time.Second {
		t.Errorf("the next look is due after %v, want half the time since the last signal, 3 s", got)
	}
}

// What the first plan leaves to others is witnessed before it is carried out, the nearest
// first, and nothing later.
func TestWhatIsWitnessed(t *testing.T) {
	l := NewLedger(drainitPID)
	s := proc.New(kinfolk(kin{"dash", 10, 1}, kin{"app", 11, 10}, kin{"app", 13, 12}, kin{"app", 12, 11}))
	plan := l.Plan(term(Stop), s)
	w, needed := l.WantWitness(plan, s, time.Unix(100, 0))
	var witnessed []int
	for _, p := range w.Evidence {
		witnessed = append(witnessed, p.PID)
	}
	if got, want := fmt.Sprint(witnessed, w.Signals, w.Until.Sub(time.Unix(100, 0)), needed), "[11 12 13] [terminated] 20ms true"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	l.Witness(proc.New(nil).With(proc.Details{Evidence: map[int]proc.Evidence{12: {{}}, 99: {{}}}}))
	if l.living[12].evidence == nil || l.living[13].evidence != nil {
		t.Error("the evidence is not that of 12")
	}
	sentAll(l, plan)
	if _, needed := l.WantWitness(l.Plan(term(Orphans), s), s, time.Now()); needed {
		t.Error("it is asked for in the second plan")
	}
	if _, needed := NewLedger(drainitPID).WantWitness(nil, nil, time.Now()); needed {
		t.Error("it is asked for without a snapshot")
	}
}
