package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// afterTheShell is a stop of a shell that has died of TERM, with what was below it.
func afterTheShell(below ...kin) *Ledger {
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(append(kinfolk(below...), kindly("dash", 10, 1)))))
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
			t.Errorf("it was waited for behind %d snapshots: the successor is %d, want %d", tt.snapshots, p.PID, tt.want)
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
}

// A launcher that was signalled is about to die of that, handler or not.
func TestSignalledLauncherIsNoSuccessorBesideAnother(t *testing.T) {
	npm := kindly("npm", 11, 10)
	npm.Handled, npm.Fatal = termSet, 0
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New([]proc.Process{kindly("dash", 10, 1), npm, kindly("app", 12, 10)})))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	npm.PPID = 1
	orphans(l, npm, kindly("app", 12, 1))
	wantSuccessor(t, "beside npm", l, 12)
}

// Of an orphan whose parent is dead it can't be known whether it was signalled, if a process
// that passes the stop on may have signalled that parent: the nearest above it that received
// something to pass on. Shells and launchers pass nothing on, and of a relay it is known what.
func TestWhoMayHaveSignalledTheParent(t *testing.T) {
	deafRelay, npm := kindly("timeout", 11, 10), kindly("npm", 11, 10)
	deafRelay.Handled, deafRelay.PGID = 0, 11
	npm.Handled, npm.Fatal = termSet, 0
	for _, tt := range []struct {
		name    string
		between proc.Process
		want    bool
	}{
		{"a program that handles it", kindly("app", 11, 10), true},
		{"one that does not: the worker may have", kindly("unknown", 11, 10), true},
		{"a shell without a handler: the worker may have", kindly("dash", 11, 10), true},
		{"a shell with one: it has not", kindly("bash", 11, 10), false},
		{"a launcher: the worker may have", npm, true},
		{"a relay: it has not", deafRelay, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parent, orphan := kindly("unknown", 12, 11), kindly("app", 13, 12)
			l := NewLedger(drainitPID)
			sentAll(l, l.Plan(term(Stop), proc.New([]proc.Process{kindly("app", 10, 1), tt.between, parent, orphan})))
			l.Exited(10, 0)
			orphan.PPID = 1
			sent := orphans(l, orphan)
			if got := len(l.Undecided()) > 0; got != tt.want {
				t.Errorf("undecided %v, want %v; signalled %v", got, tt.want, sent)
			}
		})
	}
}
