package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// afterTheShell is a stop of a shell's process group: it has died of TERM, and what was below it was
// signalled, too.
func afterTheShell(below ...kin) *Ledger {
	l, r := NewLedger(drainitPID), term(Stop)
	r.Mode, r.Worker.PGID = ModeGroup, 10
	sentAll(l, l.Plan(r, proc.New(append(kinfolk(below...), kindly("dash", 10, 1)))))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	return l
}

func wantSuccessor(t *testing.T, when string, l *Ledger, want int) {
	t.Helper()
	if p, _ := l.Successor(); p.PID != want {
		t.Errorf("%s: the successor is %d, want %d", when, p.PID, want)
	}
}

// What is dead and has not been waited for may be the successor: the choice waits for it, for
// three snapshots.
func TestChoiceOfASuccessorWaitsForTheDead(t *testing.T) {
	for _, tt := range []struct{ snapshots, want int }{{0, 11}, {1, 11}, {mostDeferred, 11}, {mostDeferred + 1, 0}} {
		l := afterTheShell(kin{"app", 11, 10})
		for range tt.snapshots {
			orphans(l)
			wantSuccessor(t, "before its exit", l, 0)
		}
		l.Exited(11, 0)
		l.PromoteLast()
		if p, _ := l.Successor(); p.PID != tt.want {
			t.Errorf("it was waited for after %d snapshots: the successor is %d, want %d", tt.snapshots, p.PID, tt.want)
		}
	}
}

// It waits neither for one that lives, nor for one that another will wait for.
func TestChoiceOfASuccessorIsMadeAtOnce(t *testing.T) {
	l := afterTheShell(kin{"app", 11, 10})
	orphans(l, kindly("app", 11, 1))
	wantSuccessor(t, "it lives", l, 11)

	l = afterTheShell(kin{"dash", 11, 10}, kin{"app", 12, 11})
	orphans(l, kindly("dash", 11, 1))
	wantSuccessor(t, "the shell above the dead one lives", l, 11)

	l = afterTheShell(kin{"npm with its handler", 11, 10}, kin{"app", 12, 10})
	orphans(l, kindly("npm with its handler", 11, 1), kindly("app", 12, 1))
	wantSuccessor(t, "a signalled launcher beside it is about to die of that", l, 12)
}
