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
func sentAll(l *Ledger, all []Delivery) (pids []int) {
	for _, d := range all {
		l.Sent(d, 1000)
		pids = append(pids, d.Process.PID)
	}
	return pids
}

// below is what a snapshot shows of one process that handles TERM.
func below(pid, ppid int, start uint64) proc.Process {
	return proc.Process{
		ID: proc.ID{PID: pid, Start: start}, PPID: ppid, State: 'S', Comm: "app",
		Handled: signals.SetOf(unix.SIGTERM), Exe: "app", Args: []string{"app"},
	}
}

// term is a request of a stop by TERM whose worker is pid 10.
func term(purpose Purpose) Request {
	return Request{Purpose: purpose, Signal: unix.SIGTERM, Worker: Worker{PID: 10}}
}

// orphans plans what follows from a snapshot, and notes that it was done.
func orphans(l *Ledger, shown ...proc.Process) []int {
	return sentAll(l, l.Plan(term(Orphans), proc.New(shown)))
}

// call is the same for the last call.
func call(l *Ledger, shown ...proc.Process) []int {
	return sentAll(l, l.Plan(term(LastCall), proc.New(shown)))
}

// stopping is a stop whose worker has been signalled.
func stopping(t *testing.T, shown ...proc.Process) *Ledger {
	t.Helper()
	l := NewLedger(drainitPID)
	wantSent(t, "the worker", sentAll(l, l.Plan(term(Stop), proc.New(shown))), 10)
	return l
}

// stoppingGroup is a stop whose worker was signalled with its process group, 10, of
// which these members were shown.
func stoppingGroup(members ...proc.Process) *Ledger {
	l := NewLedger(drainitPID)
	l.Plan(term(Stop), proc.New(slices.Clone(members)))
	l.Sent(Delivery{Target: ToGroup, Signal: unix.SIGTERM, PGID: 10, Members: members}, 1000)
	return l
}

func wantSent(t *testing.T, when string, got []int, want ...int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: signalled %v, want %v", when, got, want)
	}
}

func TestWorkerThatProcHidesLivesUntilItIsWaitedFor(t *testing.T) {
	worker := below(10, drainitPID, 100)
	worker.State, worker.Handled = 'X', 0
	for name, hidden := range map[string][]proc.Process{"not in the snapshot": nil, "could not be read": {worker}} {
		child, daemon := below(11, 10, 100), below(12, drainitPID, 100)
		l := stopping(t, append(hidden, child, daemon)...)
		wantSent(t, name+": while it lives", orphans(l, append(hidden, child, daemon)...))
		l.Exited(10, 0)
		child.PPID = drainitPID
		wantSent(t, name+": when it has gone", orphans(l, child))
		wantSent(t, name+": by the last call, for it may have had a handler", call(l, child), 11)
	}
}

// Of a hidden worker the start time is not known either.
func TestWorkerThatProcShowsLaterIsNotSignalledAgain(t *testing.T) {
	daemon := below(11, drainitPID, 100)
	l := stopping(t, daemon)
	worker := below(10, drainitPID, 100)
	wantSent(t, "while it lives", orphans(l, worker, daemon))
	if l.WasSent(worker.ID) == 0 {
		t.Error("it was signalled and is taken for another")
	}
	wantSent(t, "by the last call", call(l, worker, daemon), 11)
}

func TestRecycledPidIsAnotherProcess(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	wantSent(t, "the orphan", call(l, below(11, drainitPID, 100)), 11)
	l.Exited(11, 0)
	wantSent(t, "another with its pid", call(l, below(11, drainitPID, 2000)), 11)
}

// A process that is moved to drainit while /proc is read may be in no place of it.
func TestWhatASnapshotMissesIsNoStranger(t *testing.T) {
	child := below(11, 10, 100)
	l := stopping(t, below(10, drainitPID, 100), child)
	wantSent(t, "while nothing is shown", orphans(l))
	l.Exited(10, 0)
	child.PPID = drainitPID
	wantSent(t, "what its parent has signalled", orphans(l, child))
}

// The worker was signalled in tick 1000. What is older may have been signalled by it, which a
// line says; what is younger cleans up.
func TestAnOrphanOfUnknownParentIsACleanUpOnlyIfItIsYounger(t *testing.T) {
	for start, undecided := range map[uint64]int{999: 1, 1000: 0} {
		l := stopping(t, below(10, drainitPID, 100))
		l.Exited(10, 0)
		wantSent(t, fmt.Sprint("started at ", start), orphans(l, below(11, drainitPID, start)))
		if all := l.undecidedOnes(); len(all) != undecided {
			t.Errorf("started at %d: undecided %v", start, all)
		}
	}
}

// Why one was not signalled is told when it changes, and not for each snapshot.
func TestWhyAnOrphanIsNotSignalledIsToldOnce(t *testing.T) {
	daemon, reader := below(11, drainitPID, 100), below(12, drainitPID, 100)
	l := stopping(t, below(10, drainitPID, 100), daemon, reader)
	told := func(when string, s *proc.Snapshot, want ...string) {
		t.Helper()
		sentAll(l, l.Plan(term(Orphans), s))
		var got []string
		for _, w := range l.Waiting() {
			got = append(got, fmt.Sprint(w.Processes[0].PID, " ", w.Rule))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	shown := []proc.Process{below(10, drainitPID, 100), daemon, reader}
	const before = " it was there before the stop, and the work goes on"
	told("first", proc.New(shown), "11"+before, "12"+before)
	told("again", proc.New(shown))
	l.Exited(10, 0)
	told("the worker has gone", with(shown[1:], details{Writers: map[int][]int{12: {11}}}), "12 it reads a pipe of a process that lives")
}

// Where none that was signalled had a handler, none can have passed it on.
func TestAnOrphanOfUnknownParentBelowAShellIsSignalled(t *testing.T) {
	shell := below(10, drainitPID, 100)
	shell.Handled = 0
	l := stopping(t, shell)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	wantSent(t, "it", orphans(l, below(11, drainitPID, 2000)), 11)
}

// It may be gone before the signal gets there.
func TestOrphanOfOneThatCouldNotBeSignalledIsSignalled(t *testing.T) {
	l := NewLedger(drainitPID)
	if all := l.Plan(term(Stop), proc.New([]proc.Process{below(10, drainitPID, 100), below(11, 10, 100)})); len(all) != 1 {
		t.Errorf("to be signalled: %v", all)
	}
	l.Exited(10, 0)
	wantSent(t, "its child", orphans(l, below(11, drainitPID, 100)), 11)
}

func TestTheDeadAreNotSignalled(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 10, 100))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	shown := proc.New([]proc.Process{below(11, drainitPID, 100), below(12, drainitPID, 100)})
	l.observe(shown)
	l.Exited(11, 0)
	wantSent(t, "the one that lives", sentAll(l, l.planBy(func() { l.judge(LastCall) })), 12)
	l = NewLedger(drainitPID)
	l.Plan(term(Stop), proc.New([]proc.Process{below(10, drainitPID, 100)}))
	l.Exited(10, 0)
	wantSent(t, "a worker that has gone", sentAll(l, l.planBy(func() { l.addRoots("the worker") })))
}

// A second try does not help where drainit may not signal a process; and a process group
// has members that are started behind the snapshot.
func TestAnyDeliveryThatWasTriedCounts(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100))
	late := below(13, 10, 100)
	l.Sent(Delivery{Process: late, Signal: unix.SIGTERM}, 1000)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	late.PPID = drainitPID
	wantSent(t, "of the group", orphans(l, late))
	wantSent(t, "by the last call", call(l, late))
}

// The first snapshot that shows the orphans of the worker may come before it is known how
// that died.
func TestOrphansOfAWorkerThatWasNotWaitedForAreLeftToItMeanwhile(t *testing.T) {
	child, tool, worker := below(11, 10, 100), below(12, 10, 100), below(10, drainitPID, 100)
	tool.Handled, worker.Handled = 0, 0
	l := stopping(t, worker, child, tool)
	child.PPID, tool.PPID = drainitPID, drainitPID
	wantSent(t, "before it is known", orphans(l, child, tool))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	wantSent(t, "when it is known", orphans(l, child, tool), 11, 12)
}

// A tick is a hundredth of a second: what was there before the signal, in the same tick,
// is not of the clean-up.
func TestWhatWasShownBeforeTheSignalWasStartedBeforeIt(t *testing.T) {
	for shownBefore, want := range map[bool][]int{true: {11}, false: nil} {
		job := below(11, 10, 1000)
		job.Handled = 0
		shown := []proc.Process{below(10, drainitPID, 100), job}
		first := shown
		if !shownBefore {
			first = shown[:1]
		}
		l := stopping(t, slices.Clone(first)...)
		wantSent(t, "while the worker lives", orphans(l, shown...))
		l.Exited(10, 0)
		job.PPID = drainitPID
		wantSent(t, fmt.Sprint("shown before: ", shownBefore), orphans(l, job), want...)
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
	l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 11, 100))
	l.Sent(Delivery{Process: below(11, 10, 100), Signal: unix.SIGTERM}, 1000)
	young, orphan := below(11, drainitPID, 500), below(12, drainitPID, 100)
	young.Handled = 0
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

// By its pid alone may be signalled only what drainit waits for.
func TestWhichDeliveriesAreToAChild(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100))
	for name, tt := range map[string]struct {
		p    proc.Process
		want bool
	}{
		"a child":                       {below(11, drainitPID, 100), true},
		"a child of another":            {below(11, 10, 100), false},
		"the worker":                    {below(10, drainitPID, 100), true},
		"another with its pid":          {below(10, 7, 2000), false},
		"one of which nothing is known": {proc.Process{ID: proc.ID{PID: 12}}, false},
	} {
		if got := l.delivery(&record{Process: tt.p}, "").Child; got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
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

// Pids that are recycled within a tick may show two processes one below the other, and then the other way round.
func TestParentsCloseNoRing(t *testing.T) {
	l := stopping(t, below(10, drainitPID, 100), below(11, 10, 100), below(12, 11, 100))
	l.Plan(term(Orphans), proc.New([]proc.Process{below(10, drainitPID, 100), below(12, drainitPID, 100), below(11, 12, 100)}))
	for _, m := range l.records {
		if top := m.topmost(); top.PID != 10 { // it comes to an end
			t.Errorf("above %v is %v, want the worker", m.Process, top.Process)
		}
	}
}
