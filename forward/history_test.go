package forward

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/internal/signals"
)

// sentAll notes that deliveries were made in tick 1000, and returns their pids.
func sentAll(l *played, all []Delivery) (pids []int) {
	for _, d := range all {
		l.Sent(d, max(l.now, 1000))
		pids = append(pids, d.Process.PID)
	}
	return pids
}

// below is what a snapshot shows of one process that handles TERM.
func below(pid, ppid int, start uint64) proc.Process {
	return proc.Process{ID: proc.ID{PID: pid, Start: start}, PPID: ppid, State: 'S', Comm: "app",
		Handled: signals.SetOf(unix.SIGTERM), Details: proc.Details{Exe: "app", Args: []string{"app"}}}
}

// died notes the end of the process that had this pid in the last snapshot.
func died(h *History, pid int) {
	if m := h.living[pid]; m != nil {
		h.Died(m.ID)
	}
}

// term is a request of a stop by TERM.
func term(purpose Purpose) Request {
	return Request{Purpose: purpose, Signal: unix.SIGTERM}
}

// orphans plans what follows from a snapshot, and notes that it was done.
func orphans(l *played, shown ...proc.Process) []int {
	return sentAll(l, l.deliveries(term(Orphans), proc.New(shown)))
}

// call is the same for the last call.
func call(l *played, shown ...proc.Process) []int {
	return sentAll(l, l.deliveries(term(LastCall), proc.New(shown)))
}

// stopping is a stop whose worker has been signalled.
func stopping(t *testing.T, shown ...proc.Process) *played {
	t.Helper()
	l := newPlayed()
	wantSent(t, "the worker", sentAll(l, l.deliveries(term(Stop), proc.New(shown))), 10)
	return l
}

func wantSent(t *testing.T, when string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: signalled %v, want %v", when, got, want)
	}
}

// What a process runs is read only where it matters at the moment.
func TestProgramThatIsNotReadAgainIsStillKnown(t *testing.T) {
	shell := below(11, 10, 100)
	shell.Exe, shell.Args = "sh", []string{"sh"}
	for name, tt := range map[string]struct {
		exe  string
		args []string
		want program.Kind
	}{
		"not asked for":         {"", nil, program.Shell},
		"not read in time":      {"sh", nil, program.Shell},
		"another program":       {"node", []string{"node"}, program.Other},
		"another, half of read": {"node", nil, program.Other},
	} {
		l := stopping(t, below(10, drainitPID, 100), shell)
		again := shell
		again.Exe, again.Args = tt.exe, tt.args
		wantSent(t, name, orphans(l, below(10, drainitPID, 100), again))
		if got := l.records[shell.ID].kind; got != tt.want {
			t.Errorf("%s: it is a %v, want a %v", name, got, tt.want)
		}
	}
}

// Two with one pid may be dead, where the first was not drainit's child: it is the second
// that was waited for.
func TestTheYoungerOfTwoWithOnePidWasWaitedFor(t *testing.T) {
	for range 20 { // in any order of the records
		l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 11, 100))
		l.Sent(Delivery{Process: below(11, 10, 100), Signal: unix.SIGTERM, Stop: true}, 1000)
		young, orphan := below(11, drainitPID, 500), below(12, drainitPID, 100)
		young.Handled, young.Exe = 0, "sh"
		wantSent(t, "the second", orphans(l, below(10, drainitPID, 100), young, orphan), 11)
		wantSent(t, "when it is dead", orphans(l, below(10, drainitPID, 100), orphan))
		l.Exited(11, unix.WaitStatus(unix.SIGTERM))
		for id, exited := range map[proc.ID]bool{young.ID: true, {PID: 11, Start: 100}: false} {
			if m := l.records[id]; m != nil && (m.exit != nil) != exited {
				t.Errorf("%v has exited: %v, want %v", id, m.exit != nil, exited)
			}
		}
		if l.records[young.ID] == nil || l.records[proc.ID{PID: 11, Start: 100}] == nil {
			t.Error("one of them was forgotten: the test shows nothing")
		}
	}
}

// A worker may start thousands of others while it stops.
func TestTheDeadAreForgotten(t *testing.T) {
	worker := below(10, drainitPID, 100)
	l := stopping(t, worker)
	for i := range 100 {
		wantSent(t, "while the worker lives", orphans(l, worker, below(11+i, 10, 2000)))
		if n := len(l.records); n > 3 {
			t.Fatalf("%d records of two that live", n)
		}
	}
}

// Pids that are recycled within a tick may show two processes one below the other, and then the other way
// round.
func TestParentsCloseNoRing(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 11, 100))
	l.deliveries(term(Orphans),
		proc.New([]proc.Process{below(10, drainitPID, 100), below(12, drainitPID, 100), below(11, 12, 100)}))
	for _, m := range l.records {
		if top := m.topmost(); top.PID != 10 { // it comes to an end
			t.Errorf("above %v is %v, want the worker", m.Process, top.Process)
		}
	}
}

// A process group that is signalled as a whole in tick 1000 has members that no snapshot
// has shown; those that come later, or are in another group, were not signalled.
func TestWhatWasForkedBeforeTheGroupWasSignalledIsNotSignalledAgain(t *testing.T) {
	for _, test := range []struct {
		start         uint64
		parent, group int
		want          []int
	}{
		{999, drainitPID, 10, nil}, {1000, drainitPID, 10, nil}, {2000, drainitPID, 10, nil},
		{2001, drainitPID, 10, []int{13}},
		{999, 12, 10, nil}, {1010, 12, 10, nil}, {1011, 12, 10, []int{13}}, {999, drainitPID, 13, []int{13}},
	} {
		shell := below(10, drainitPID, 100)
		shell.Handled = 0
		l := newPlayed()
		l.deliveries(term(Stop), proc.New([]proc.Process{shell}))
		l.Sent(Delivery{Target: ToGroup, Signal: unix.SIGTERM, Stop: true, PGID: 10,
			Members: []proc.Process{shell}}, 1000)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		between, forked := below(12, drainitPID, 100), below(13, test.parent, test.start)
		between.Handled = 0
		l.Sent(Delivery{Process: between, Signal: unix.SIGTERM, Stop: true}, 1000)
		forked.PGID = test.group
		l.observe(proc.New([]proc.Process{between, forked}))
		l.Exited(12, unix.WaitStatus(unix.SIGTERM))
		forked.PPID = drainitPID
		wantSent(t, fmt.Sprintf("%+v", test), orphans(l, forked), test.want...)
		wantSent(t, "by the last call", call(l, forked))
	}
}

// wait4 tells of drainit's own children.
func TestWhichDeathsAreWatched(t *testing.T) {
	l := newPlayed()
	shown := []proc.Process{
		below(10, drainitPID, 100), below(11, 10, 100), below(12, 11, 100), below(13, 10, 100)}
	shown = append(shown, below(14, 10, 100))
	sentAll(l, l.deliveries(term(Stop), with(shown, details{Writers: map[int][]int{14: {13, 99}}})))
	want := "[{11 100} {13 100}]" // one has a child, the other is read from
	if got := fmt.Sprint(l.Watched()); got != want {
		t.Errorf("watched are %v, want %v", got, want)
	}
	l.Died(proc.ID{PID: 11, Start: 100})
	l.Died(proc.ID{PID: 13, Start: 99}) // its pid is another's now
	l.Died(l.worker.ID)                 // not so, as long as it was not waited for
	if got, want := fmt.Sprint(l.Watched()), "[{13 100}]"; got != want {
		t.Errorf("watched are %v after a death, want %v", got, want)
	}
	waitedFor := l.living[13]
	l.Exited(13, 0)
	if !l.alive(l.worker) || l.alive(waitedFor) {
		t.Errorf("the worker lives: %v, and what was waited for: %v", l.alive(l.worker), l.alive(waitedFor))
	}
}

// Processes that come and go in a drain without a signal leave no record: a drain may last for ever.
func TestWhatHasComeAndGoneInADrainIsForgotten(t *testing.T) {
	app := below(10, drainitPID, 100)
	l := stopping(t, app)
	for n := range 3000 {
		wantSent(t, "below one that handles the signal", orphans(l, app, below(100+n, 10, uint64(2000+n))))
	}
	if n := len(l.records); n > 10 {
		t.Errorf("%d records", n)
	}
}

// Nor do those without a handler that drainit has signalled a minute ago.
func TestWhatWasSignalledAndHasGoneIsForgotten(t *testing.T) {
	app := below(10, drainitPID, 100)
	app.Handled = 0
	l := stopping(t, app)
	for n := range uint64(3000) {
		r, orphan := Request{Purpose: Orphans, Signal: unix.SIGTERM, Tick: 2000 + 100*n},
			below(100+int(n), drainitPID, 2000+100*n)
		orphan.Handled = 0
		for _, d := range l.deliveries(r, proc.New([]proc.Process{app, orphan})) {
			l.Sent(d, r.Tick)
		}
		if len(l.records) > 100 {
			t.Fatalf("%d records", len(l.records))
		}
	}
}

// A process that has gone long ago may have signalled its group.
func TestGroupOfAProcessThatHasGone(t *testing.T) {
	for group, want := range map[int][]int{20: nil, 30: {22}} {
		sh, dies, beside := below(10, drainitPID, 100), below(11, 10, 100), below(22, 11, 2000)
		sh.Handled, sh.Exe, dies.Handled, beside.PGID = 0, "sh", 0, group
		l := stopping(t, sh, dies)
		parent, child := below(20, drainitPID, 2000), below(21, 20, 2000)
		parent.Untouched, parent.PGID, child.PGID = true, 20, 20
		wantSent(t, "an untouched one", orphans(l, sh, dies, beside, parent, child), 20)
		l.Exited(20, 0)
		for range 3 {
			wantSent(t, "the other lives", orphans(l, sh, dies, beside))
		}
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		dies.PPID = drainitPID
		wantSent(t, "what would only die", orphans(l, dies, beside), 11)
		l.Exited(11, unix.WaitStatus(unix.SIGTERM))
		beside.PPID = drainitPID
		wantSent(t, fmt.Sprint("one of group ", group), orphans(l, beside), want...)
	}
}
