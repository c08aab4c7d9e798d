package forward

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
)

// A process group that is signalled as a whole in tick 1000 has members that no snapshot
// has shown; those that come later, or are in another group, were not signalled.
func TestWhatWasForkedBeforeTheGroupWasSignalledIsNotSignalledAgain(t *testing.T) {
	for _, test := range []struct {
		start         uint64
		parent, group int
		want          []int
	}{
		{999, drainitPID, 10, nil}, {1000, drainitPID, 10, nil}, {2000, drainitPID, 10, nil}, {2001, drainitPID, 10, []int{13}},
		{999, 12, 10, nil}, {1010, 12, 10, nil}, {1011, 12, 10, []int{13}}, {999, drainitPID, 13, []int{13}},
	} {
		shell := below(10, drainitPID, 100)
		shell.Handled = 0
		l := stoppingGroup(shell)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		between, forked := below(12, drainitPID, 100), below(13, test.parent, test.start)
		between.Handled = 0
		l.Sent(Delivery{Process: between, Signal: unix.SIGTERM}, 1000)
		forked.PGID = test.group
		l.observe(proc.New([]proc.Process{between, forked}))
		l.Exited(12, unix.WaitStatus(unix.SIGTERM))
		forked.PPID = drainitPID
		wantSent(t, fmt.Sprintf("%+v", test), orphans(l, forked), test.want...)
		wantSent(t, "by the last call", call(l, forked))
	}
}

// A member that only a snapshot after the delivery shows counts as signalled by then, and
// what it starts later is part of its clean-up.
func TestMemberThatIsShownAfterItsGroupWasSignalledMayStartOthers(t *testing.T) {
	worker, helper, child := below(10, drainitPID, 100), below(12, drainitPID, 1050), below(13, 12, 1120)
	worker.PGID, helper.PGID, child.PGID = 10, 10, 10
	l := stoppingGroup(worker)
	l.observe(proc.New([]proc.Process{worker, helper, child}))
	l.Exited(12, 0)
	child.PPID = drainitPID
	wantSent(t, "the child of the helper", orphans(l, worker, child))
}
