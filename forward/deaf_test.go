package forward

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// waiting is that a shell waits for some of its children.
func waiting(shell int, how proc.Waiting, children ...int) map[[2]int]proc.Waiting {
	waits := make(map[[2]int]proc.Waiting)
	for _, pid := range children {
		waits[[2]int{shell, pid}] = how
	}
	return waits
}

// untouched are those that have received nothing.
func untouched(pids ...int) map[proc.ID]bool {
	all := make(map[proc.ID]bool)
	for _, pid := range pids {
		all[proc.ID{PID: pid, Start: 100}] = true
	}
	return all
}

// later plans what follows from a snapshot so many ticks after the stop began.
func later(l *Ledger, after uint64, shown []proc.Process, d proc.Details) []int {
	r := term(Orphans)
	r.Tick = 1000 + after
	return sentAll(l, l.Plan(r, proc.New(shown).With(d)))
}

// The worker was signalled some time ago, and lives.
func TestWhatIsSignalledBelowTheDeaf(t *testing.T) {
	tests := []struct {
		name   string
		worker string
		below  []kin
		proc.Details
		want []int
	}{
		{"one that blocks it", "blocks", []kin{{"app", 11, 10}, {"dies", 12, 10}}, proc.Details{}, []int{11}},
		{"the first that handles it", "blocks", []kin{{"dash", 11, 10}, {"app", 12, 11}, {"app", 13, 12}}, proc.Details{}, []int{12}},
		{"a shell that waits for its child", "bash", []kin{{"app", 11, 10}}, proc.Details{Waits: waiting(10, proc.Waits, 11)}, []int{11}},
		{"a shell that waits for what would only die", "bash", []kin{{"dies", 11, 10}}, proc.Details{Waits: waiting(10, proc.Waits, 11)}, nil},
		{"a shell that waits for a shell that would", "bash", []kin{{"dash", 11, 10}, {"app", 12, 11}}, proc.Details{Waits: waiting(10, proc.Waits, 11)}, []int{12}},
		{"its child in the background is left to its trap", "bash", []kin{{"app", 11, 10}, {"app", 12, 10}}, proc.Details{Waits: waiting(10, proc.Waits, 12)}, []int{12}},
		{"a shell that waits for none", "bash", []kin{{"app", 11, 10}}, proc.Details{}, nil},
		{"a shell that may wait for its child", "bash", []kin{{"app", 11, 10}}, proc.Details{Waits: waiting(10, proc.MayWait, 11)}, nil},
		{"a shell that may, where no trap has signalled the child", "bash", []kin{{"app", 11, 10}},
			proc.Details{Waits: waiting(10, proc.MayWait, 11), Untouched: untouched(11)}, []int{11}},
		{"mksh, whose handler proves nothing", "mksh", []kin{{"app", 11, 10}}, proc.Details{Waits: waiting(10, proc.Waits, 11)}, []int{11}},
		{"a reader of a pipe is left", "bash", []kin{{"app", 11, 10}},
			proc.Details{Waits: waiting(10, proc.Waits, 11), Writers: map[int][]int{11: {13}}}, nil},
		{"a program that handles it", "app", []kin{{"app", 11, 10}}, proc.Details{Untouched: untouched(11)}, nil},
	}
	for _, tt := range tests {
		worker := kindly(tt.worker, 10, 1)
		worker.Pending = 0
		l := stopping(t, append(kinfolk(tt.below...), worker)...)
		shown := append(kinfolk(tt.below...), kindly(tt.worker, 10, 1))
		wantSent(t, tt.name+", too soon", later(l, actsAfter-1, shown, tt.Details))
		wantSent(t, tt.name, later(l, actsAfter, shown, tt.Details), tt.want...)
		wantSent(t, tt.name+", once more", later(l, 100, shown, tt.Details))
	}
}

func TestWhatShowsThatAShellDoesNotWait(t *testing.T) {
	for name, change := range map[string]func(*proc.Process){
		"a child that leads a group, of set -m": func(p *proc.Process) { p.PGID = p.PID },
		"a child that ignores INT and QUIT":     func(p *proc.Process) { p.Ignored = signals.SetOf(unix.SIGINT, unix.SIGQUIT) },
	} {
		c := kindly("app", 11, 10)
		change(&c)
		shown := []proc.Process{kindly("bash", 10, 1), c}
		d := proc.Details{Waits: waiting(10, proc.Waits, 11)}
		wantSent(t, name, later(stopping(t, shown...), 100, shown, d))
	}
	relay := kindly("timeout", 11, 10)
	relay.PGID = 11
	shown := []proc.Process{kindly("bash", 10, 1), relay}
	d := proc.Details{Waits: waiting(10, proc.Waits, 11)}
	wantSent(t, "timeout leads a group wherever it is", later(stopping(t, shown...), 100, shown, d), 11)
}

// What was started after the signal was started by the trap.
func TestATrapThatHasStartedOneRuns(t *testing.T) {
	l := stopping(t, kindly("bash", 10, 1), kindly("app", 11, 10))
	shown := kinfolk(kin{"bash", 10, 1}, kin{"app", 11, 10}, kin{"app", 12, 10})
	wantSent(t, "what it waits for", later(l, 100, shown, proc.Details{Waits: waiting(10, proc.Waits, 11, 12)}))
}

func TestWhatIsStoppedOrRunsIsNotDeaf(t *testing.T) {
	for _, state := range []byte{'T', 'R'} {
		worker := kindly("blocks", 10, 1)
		l := stopping(t, worker, kindly("app", 11, 10))
		worker.State = state
		wantSent(t, string(state), later(l, 100, []proc.Process{worker, kindly("app", 11, 10)}, proc.Details{}))
	}
}

// An orphan that another may have signalled, with its group or alone, passes nothing on:
// what is below it may have been signalled, unless it is proven that it was not.
func TestBelowADeafOrphanWhatIsUntouchedIsSignalled(t *testing.T) {
	for _, kind := range []string{"ignores", "blocks", "init", "bash"} {
		for name, want := range map[string][]int{"busy": nil, "untouched": {12}} {
			d := proc.Details{Waits: waiting(11, proc.Waits, 12)}
			if name == "untouched" {
				d.Untouched = untouched(12)
			}
			l := stopping(t, kinfolk(kin{"app", 10, 1}, kin{kind, 11, 10}, kin{"app", 12, 11})...)
			l.Exited(10, 0)
			shown := kinfolk(kin{kind, 11, 1}, kin{"app", 12, 11})
			got := later(l, 100, shown, d)
			if l.Recheck(1101) == 0 {
				t.Errorf("%s, %s: no snapshot is due", kind, name)
			}
			wantSent(t, kind+", "+name, append(got, later(l, 200, shown, d)...), want...)
		}
	}
}

// What another has signalled may be blocked or not: there is no line about it.
func TestThereIsNoLineAboutATrapThatDrainitDidNotSignal(t *testing.T) {
	l := stopping(t, kinfolk(kin{"app", 10, 1}, kin{"bash", 11, 10}, kin{"app", 12, 11})...)
	l.Exited(10, 0)
	shown := kinfolk(kin{"bash", 11, 1}, kin{"app", 12, 11})
	d := proc.Details{Waits: waiting(11, proc.Waits, 12), Untouched: untouched(12)}
	wantSent(t, "when it is orphaned", later(l, 10, shown, proc.Details{}))
	if all := l.BlockedTraps(1200, proc.New(shown).With(d)); len(all) != 0 {
		t.Errorf("%v", all)
	}
}

func TestBlockedTrapsAreThoseOfShells(t *testing.T) {
	for kind, want := range map[string]int{"bash": 1, "blocks": 0, "ignores": 0} {
		shown := kinfolk(kin{kind, 10, 1}, kin{"dies", 11, 10})
		l := stopping(t, shown...)
		s := proc.New(shown).With(proc.Details{Waits: waiting(10, proc.Waits, 11)})
		if all := l.BlockedTraps(1100, s); len(all) != want || want > 0 && (all[0].Process.PID != 10 || len(all[0].Children) != 1) {
			t.Errorf("%s: %v, want %d", kind, all, want)
		}
	}
}

// What is deaf is asked for closely, with all below it; of shells, for what they wait; and
// of those below, whether they were touched.
func TestWhatIsAskedOfTheDeaf(t *testing.T) {
	for kind, want := range map[string]string{
		"app":     "parents 1, TERM, pipes, environment",
		"bash":    "parents 1, TERM, pipes, environment, all 10, shell 10, prove 11",
		"ignores": "parents 1, TERM, pipes, environment, all 10, prove 11",
	} {
		shown := kinfolk(kin{kind, 10, 1}, kin{"dies", 11, 10})
		l := NewLedger(drainitPID)
		s := proc.New(shown).With(proc.Details{Evidence: map[int]proc.Evidence{11: {{}}}})
		sentAll(l, l.Plan(term(Stop), s))
		r := term(Orphans)
		r.Tick = 1000 + actsAfter
		if got := describeWant(l.Want(r, time.Time{})); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
