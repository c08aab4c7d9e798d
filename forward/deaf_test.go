package forward

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// waiting is that a shell waits in the foreground.
func waiting(shell int, how program.Waiting) map[int]program.Waiting {
	return map[int]program.Waiting{shell: how}
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
func later(l *played, after uint64, shown []proc.Process, d details) []int {
	r := term(Orphans)
	r.Tick = 1000 + after
	return sentAll(l, l.deliveries(r, with(shown, d)))
}

// The worker was signalled some time ago, and lives.
func TestWhatIsSignalledBelowTheDeaf(t *testing.T) {
	tests := []struct {
		name string
		tree string
		details
		want []int
	}{
		{"one that blocks it", "blocks10(app11 dies12)", details{}, []int{11}},
		{"the first below a namespace's first", "init10(dash11(app12(app13)))", details{}, []int{12}},
		{"below one that ignores it, a mksh, which may have a trap", "ignores10(mksh11(app12))", details{}, []int{11}},
		{"past two that ignore it", "ignores10(ignores11(app12))", details{}, []int{12}},
		{"the first that handles it", "blocks10(dash11(app12(app13)))", details{}, []int{12}},
		{"a shell that waits for its child", "bash10(app11)", details{Waits: waiting(10, program.Waits)}, []int{11}},
		{"a shell that waits for what would only die", "bash10(dies11)", details{Waits: waiting(10, program.Waits)}, nil},
		{"a shell that waits for a shell that would", "bash10(dash11(app12))", details{Waits: waiting(10, program.Waits)}, []int{12}},
		{"a shell that waits for none", "bash10(app11)", details{}, nil},
		{"a shell that may wait for its child", "bash10(app11)", details{Waits: waiting(10, program.MayWait)}, nil},
		{"a shell that may, where no trap has signalled the child", "bash10(app11)",
			details{Waits: waiting(10, program.MayWait), Untouched: untouched(11)}, []int{11}},
		{"a shell that may wait for a shell above a busy one", "bash10(dash11(app12))", details{Waits: waiting(10, program.MayWait)}, nil},
		{"mksh, whose handler proves nothing", "mksh10(app11)", details{Waits: waiting(10, program.Waits)}, []int{11}},
		{"a reader of a pipe is left", "bash10(app11)",
			details{Waits: waiting(10, program.Waits), Writers: map[int][]int{11: {13}}}, nil},
		{"go-task, which handles it and tells none", "task10(dash11(app12))", details{}, []int{12}},
		{"a program that handles it", "app10(app11)", details{Untouched: untouched(11)}, nil},
	}
	for _, tt := range tests {
		first, shown := living(tt.tree), living(tt.tree)
		first[0].Pending = 0
		first[0].Call, tt.Stacks = proc.Call{Sleeps: true, Stack: 7}, map[int]uint64{10: 7}
		l := stopping(t, first...)
		wantSent(t, tt.name+", too soon", later(l, actsAfter-1, shown, tt.details))
		wantSent(t, tt.name, later(l, actsAfter, shown, tt.details), tt.want...)
		wantSent(t, tt.name+", once more", later(l, 100, shown, tt.details))
	}
}

// What a shell has in its foreground is the youngest child, with what writes to that.
func TestWhatAShellWaitsFor(t *testing.T) {
	background := signals.SetOf(unix.SIGINT, unix.SIGQUIT)
	older, youngest, marked := kindly("app", 11, 10), kindly("app", 12, 10), kindly("app", 12, 10)
	marked.Ignored = background
	leads := youngest
	leads.PGID = 12
	for _, tt := range []struct {
		name     string
		how      program.Waiting
		children []proc.Process
		details
		want []int
	}{
		{"dash, the youngest", program.Waits, []proc.Process{older, youngest}, details{}, []int{12}},
		{"dash, what writes to the youngest", program.Waits, []proc.Process{older, youngest}, details{Writers: map[int][]int{12: {11}}}, []int{11}},
		{"dash, a child with a group of its own, of set -m", program.Waits, []proc.Process{older, leads}, details{}, []int{12}},
		{"dash, a child that it has put into the background", program.Waits, []proc.Process{older, marked}, details{}, nil},
		{"bash, where none was touched", program.MayWait, []proc.Process{older, youngest}, details{Untouched: untouched(11, 12)}, []int{12}},
		{"bash, where another was", program.MayWait, []proc.Process{older, youngest}, details{Untouched: untouched(12)}, nil},
		{"bash, where it was itself", program.MayWait, []proc.Process{older, youngest}, details{Untouched: untouched(11)}, nil},
		{"bash, beside one that would have died", program.MayWait, []proc.Process{kindly("dies", 11, 10), youngest}, details{Untouched: untouched(12)}, []int{12}},
		{"bash, what writes to the youngest", program.MayWait, []proc.Process{older, youngest},
			details{Untouched: untouched(11, 12), Writers: map[int][]int{12: {11}}}, []int{11}},
		{"bash, a child that it has put into the background", program.MayWait, []proc.Process{older, marked}, details{Untouched: untouched(11, 12)}, nil},
	} {
		shown := append([]proc.Process{kindly("bash", 10, 1)}, tt.children...)
		tt.Waits = waiting(10, tt.how)
		for stack, want := range map[uint64][]int{7: tt.want, 6: nil} { // it is elsewhere: its trap has run, or does
			first := slices.Clone(shown)
			first[0].Call, tt.Stacks = proc.Call{Sleeps: true, Stack: 7}, map[int]uint64{10: stack}
			l := stopping(t, first...)
			if tt.how == program.Waits {
				want = tt.want
			}
			wantSent(t, fmt.Sprintf("%s, stack %d", tt.name, stack), later(l, 100, shown, tt.details), want...)
		}
	}
}

// A busy child is signalled if the shell surely waits for it: by the child's marks, or by dash's wait4. Neither
// holds once a child has gone, nor does an idle one's rest prove it where the shell ran when it was signalled.
func TestWhatAShellSurelyWaitsFor(t *testing.T) {
	sleeps := proc.Call{Sleeps: true, Stack: 7}
	for _, tt := range []struct {
		name   string
		first  proc.Call // of the shell, when it is signalled
		later  program.Waiting
		marked bool // 12 is in the foreground by its marks, 11 in the background
		lost   bool // 11 ends
		details
		want []int
	}{
		{"bash, by the marks", sleeps, program.MayWait, true, false, details{}, []int{12}},
		{"bash, without marks", sleeps, program.MayWait, false, false, details{}, nil},
		{"bash, when a child has gone", sleeps, program.MayWait, true, true, details{}, nil},
		{"bash, which does not wait", sleeps, program.NotWaiting, true, false, details{}, nil},
		{"bash, which ran when it was signalled", proc.Call{}, program.MayWait, false, false, details{Untouched: untouched(11, 12)}, nil},
		{"bash, which slept then", sleeps, program.MayWait, false, false, details{Untouched: untouched(11, 12)}, []int{12}},
		{"dash", sleeps, program.Waits, false, false, details{}, []int{12}},
		{"dash, when a child has gone", sleeps, program.Waits, false, true, details{}, nil},
	} {
		first, shown := living("bash10(app11 app12)"), living("bash10(app11 app12)")
		for _, all := range [][]proc.Process{first, shown} {
			if all[0].Call = tt.first; tt.marked {
				all[1].Ignored, all[1].Input, all[2].Input = signals.SetOf(unix.SIGINT, unix.SIGQUIT), proc.NullInput, proc.ParentsInput
			}
		}
		shown[0].Call = proc.Call{}
		l := stopping(t, first...)
		if tt.lost {
			shown = slices.Delete(shown, 1, 2)
		}
		tt.Waits, tt.Stacks = waiting(10, tt.later), map[int]uint64{10: 7}
		wantSent(t, tt.name, append(later(l, 2, slices.Clone(shown), tt.details), later(l, 100, shown, tt.details)...), tt.want...)
	}
}

// What was started after the signal was started by the trap.
func TestATrapThatHasStartedOneRuns(t *testing.T) {
	l := stopping(t, living("bash10(app11)")...)
	shown := living("bash10(app11 app12)")
	waits := details{Waits: waiting(10, program.Waits)}
	wantSent(t, "what it waits for", later(l, 100, shown, waits))
	wantSent(t, "what its trap may signal", sentAll(l, l.deliveries(term(LastCall), with(shown, waits))))
}

// An orphan that another may have signalled, with its group or alone, passes nothing on:
// what is below it may have been signalled, unless it is proven that it was not.
func TestBelowADeafOrphanWhatIsUntouchedIsSignalled(t *testing.T) {
	for _, kind := range []string{"ignores", "blocks", "init", "bash"} {
		for name, want := range map[string][]int{"busy": nil, "untouched": {12}} {
			d := details{Waits: waiting(11, program.Waits)}
			if name == "untouched" {
				d.Untouched = untouched(12)
			}
			l := stopping(t, living("app10("+kind+"11(app12))")...)
			l.Exited(10, 0)
			shown := living(kind + "11(app12)")
			got := later(l, 100, shown, d)
			wantSent(t, kind+", "+name, append(got, later(l, 200, shown, d)...), want...)
			if all := l.plan.BlockedTraps; len(all) != 0 { // what another has signalled may be blocked or not
				t.Errorf("%s, %s: there is a line about %v", kind, name, all)
			}
		}
	}
}

func TestBlockedTrapsAreThoseOfShells(t *testing.T) {
	for kind, want := range map[string]int{"bash": 1, "blocks": 0, "ignores": 0} {
		shown := living(kind + "10(dies11)")
		l := stopping(t, shown...)
		later(l, 100, shown, details{Waits: waiting(10, program.Waits)})
		if all := l.plan.BlockedTraps; len(all) != want || want > 0 && (all[0].Shell.PID != 10 || all[0].Child.PID != 11) {
			t.Errorf("%s: %v, want %d", kind, all, want)
		}
	}
}

// A process with a handler takes the pending signal when it no longer blocks it: that of a manager may be the
// signal for what is below it.
func TestWhatHasThePendingSignalIsDeafOnlyWithoutAHandler(t *testing.T) {
	for _, kind := range []string{"app", "dash"} {
		for state, want := range map[byte][]int{'S': {11}, 'D': {11}, 'R': nil, 'T': nil, 't': nil} {
			p := kindly(kind, 10, 1)
			l := stopping(t, p, kindly("app", 11, 10))
			p.State, p.Pending, p.Blocked = state, termSet, termSet
			if kind == "app" {
				want = nil
			}
			shown := []proc.Process{p, kindly("app", 11, 10)}
			wantSent(t, fmt.Sprintf("%s in state %c", kind, state), later(l, 300, shown, details{Untouched: untouched(11)}), want...)
		}
	}
}

// A busy application below a manager that handles the stop and passes nothing on: a line names both
// after 4 s, the last call leaves it to the manager, and the final call signals it.
func TestWhatAManagerKeepsTheSignalFromIsSignalledByTheFinalCall(t *testing.T) {
	shown := living("app10(dash11(app12(app13)))")
	l := stopping(t, shown...)
	for _, step := range []struct {
		after uint64
		by    Purpose
		want  []int
		lines int
	}{{300, Orphans, nil, 0}, {500, Orphans, nil, 1}, {1000, Orphans, nil, 0}, {1100, LastCall, nil, 0}, {1200, FinalCall, []int{12}, 0}, {1204, FinalCall, nil, 0}, {1206, FinalCall, []int{13}, 0}} {
		r := term(step.by)
		r.Tick = 1000 + step.after
		wantSent(t, "", sentAll(l, l.deliveries(r, proc.New(shown))), step.want...)
		lines := slices.DeleteFunc(l.plan.Waiting, func(w Waiting) bool { return !w.Undecided })
		if len(lines) != step.lines || step.lines > 0 && (!strings.HasPrefix(lines[0].Rule, "app[10] above") || len(lines[0].Processes) != 2) {
			t.Errorf("after %d ticks: %+v", step.after, lines)
		}
	}
}
