package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// toGroup stops the worker's process group, which all are in.
func toGroup() Request {
	r := term(Stop)
	r.Mode, r.Worker.PGID = ModeGroup, 10
	return r
}

// afterTheShell is a stop of a shell that has died of TERM, with what was below it, all of
// which was signalled.
func afterTheShell(below ...kin) *Ledger {
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(toGroup(), proc.New(append(kinfolk(below...), kindly("dash", 10, 1)))))
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
	npm.Handled = termSet
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(toGroup(), proc.New([]proc.Process{kindly("dash", 10, 1), npm, kindly("app", 12, 10)})))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	npm.PPID = 1
	orphans(l, npm, kindly("app", 12, 1))
	wantSuccessor(t, "beside npm", l, 12)
}
