package forward

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// One that signals others one after the other may be kept from it for a while. It has a
// second.
func TestWhatIsUntouchedWaitsForOneThatRunsASecondAtMost(t *testing.T) {
	worker, app, d := kindly("app", 10, 1), kindly("app", 12, 11), details{Untouched: untouched(12)}
	l := stopping(t, worker, kindly("dash", 11, 10), app)
	app.PPID = drainitPID
	shown := []proc.Process{worker, app}
	wantSent(t, "at first", later(l, 1, shown, d))
	if !l.plan.Holding {
		t.Error("it is not looked at again soon")
	}
	wantSent(t, "before a second has gone by", later(l, aSecond, shown, d))
	wantSent(t, "then", later(l, aSecond+1, shown, d), 12)
}

// What its parent started in the course of the stopping may be there to signal it: a
// sibling, or one in its session whose parent was never seen. It has its turn after that.
func TestWhatIsUntouchedWaitsForAHelper(t *testing.T) {
	d := details{Untouched: untouched(12), Asleep: map[int]bool{10: true}}
	for _, tt := range []struct {
		name   string
		start  uint64 // of the helper
		seen   bool   // below 11, before that ended
		sid    int
		parent int // by then
		waits  bool
	}{
		{"a sibling", 1001, true, 13, 1, true},
		{"one whose parent was never seen", 1001, false, 10, 1, true},
		{"one in another session", 1001, false, 13, 1, false},
		{"one that was there before", 100, true, 10, 1, false},
		{"one that another started", 1001, false, 10, 10, false},
	} {
		worker, dash, app, helper := kindly("app", 10, 1), kindly("dash", 11, 10), kindly("app", 12, 11), kindly("app", 13, 11)
		helper.Start, helper.SID = tt.start, tt.sid
		first, next := []proc.Process{worker, dash, app}, []proc.Process{worker, dash, app}
		if tt.start < 1000 {
			first = append(first, helper)
		}
		if tt.seen {
			next = append(next, helper)
		}
		l := stopping(t, first...)
		wantSent(t, tt.name+", while its parent lives", later(l, 1, next, d))
		app.PPID, helper.PPID = 1, tt.parent
		got := later(l, 2, []proc.Process{worker, app, helper}, d)
		if slices.Contains(got, 12) == tt.waits {
			t.Errorf("%s: signalled %v", tt.name, got)
		}
		if tt.waits {
			wantSent(t, tt.name+", when that has gone", later(l, 3, []proc.Process{worker, app}, d), 12)
		}
	}
}

// A daemon has its turn when the worker has gone, touched or not.
func TestAnUntouchedDaemonWaitsForTheWorker(t *testing.T) {
	shown := living("app10 app20")
	l := stopping(t, shown...)
	d := details{Untouched: untouched(20)}
	wantSent(t, "while the worker lives", later(l, 1, shown, d))
	l.Exited(10, 0)
	wantSent(t, "when it has gone", later(l, 2, shown[1:], d), 20)
}

// "server & exec worker": the server ignores INT and QUIT, as a shell had it.
func TestWhatAShellStartedBesideTheWorker(t *testing.T) {
	both := signals.SetOf(unix.SIGINT, unix.SIGQUIT)
	for name, tt := range map[string]struct {
		worker, server, handled signals.Set
		want                    []int
	}{
		"a server in the background":               {0, both, 0, []int{11}},
		"one that has a handler for INT since":     {0, signals.SetOf(unix.SIGQUIT), signals.SetOf(unix.SIGINT), []int{11}},
		"what the worker itself has started":       {0, 0, 0, nil},
		"a worker that was in the background, too": {both, both, 0, nil},
		"one that ignores QUIT alone":              {0, signals.SetOf(unix.SIGQUIT), 0, nil},
	} {
		worker, server := kindly("app", 10, 1), kindly("app", 11, 10)
		worker.Ignored, server.Ignored = tt.worker, tt.server
		server.Handled |= tt.handled
		l := stopping(t, worker, server)
		l.Exited(10, 0)
		server.PPID = drainitPID
		wantSent(t, name, orphans(l, server), tt.want...)
	}
}

// The same holds below another shell, for what a shell has started, and only of what was signalled.
func TestWhatAShellStartedBesideAnother(t *testing.T) {
	for name, tt := range map[string]struct {
		outer string // the worker
		start uint64 // of the server, when the other is signalled
		want  []int
	}{
		"it was there":                       {"dash", 100, []int{12}},
		"its pid was another's":              {"dash", 500, nil},
		"its parent was not signalled by us": {"app", 100, nil},
	} {
		all := living(tt.outer + "10(app11(app12))")
		server := &all[2]
		server.Ignored = signals.SetOf(unix.SIGINT, unix.SIGQUIT)
		l := stopping(t, slices.Clone(all)...)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		all[1].PPID, server.Start = drainitPID, tt.start
		orphans(l, all[1], *server)
		l.Exited(11, 0)
		server.PPID = drainitPID
		wantSent(t, name, orphans(l, *server), tt.want...)
	}
}

// A program that had a handler for INT once may have ended what is below it. A shell acts
// upon INT after its child only, so that another sent it to such a shell says nothing.
func TestLastCallBelowWhatHandledINTOnce(t *testing.T) {
	set := signals.SetOf(unix.SIGINT)
	for above, want := range map[string][]int{"app": nil, "bash": {12}} {
		worker, once, app := kindly("dies", 10, 1), kindly(above, 11, 10), kindly("app", 12, 11)
		once.Handled, app.Handled = set, set
		r := Request{Purpose: Stop, Signal: unix.SIGINT}
		l := newPlayed()
		wantSent(t, "the stop, "+above, sentAll(l, l.deliveries(r, proc.New([]proc.Process{worker, once, app}))), 10)
		once.Handled, r.Purpose = 0, LastCall
		wantSent(t, "the last call below "+above, sentAll(l, l.deliveries(r, proc.New([]proc.Process{worker, once, app}))), want...)
	}
}

// A relay has ended it, and it was not scheduled since.
func TestWhatDiesAlreadyIsNotSignalled(t *testing.T) {
	shell := kindly("dash", 11, 1)
	shell.Pending = signals.SetOf(unix.SIGKILL)
	l := stopping(t, living("app10(dash11(app12))")...)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	wantSent(t, "while it dies", orphans(l, shell, kindly("app", 12, 11)))
	wantSent(t, "by the last call", call(l, shell, kindly("app", 12, 11)), 12)
}

// The worker itself is signalled at once, whatever it reads. Of what a worker that has
// daemonized left, one that reads a pipe of another waits for that.
func TestWhatReadsAPipeWaitsUnlessItIsTheWorker(t *testing.T) {
	shown := with(living("app10 app11"), details{Writers: map[int][]int{10: {11}}})
	plan := func(worker leader) []int {
		r := term(Stop)
		l := newPlayed()
		l.leader = worker
		return sentAll(l, l.deliveries(r, shown))
	}
	wantSent(t, "the worker reads", plan(leader{pid: 10}), 10)
	wantSent(t, "the worker has gone", plan(leader{pid: 9, gone: true, daemonizes: true}), 11)
}

// A reader ends by itself when its input has: it is signalled after its writer only if it is untouched,
// and by the last call.
func TestAReaderEndsByItself(t *testing.T) {
	shown := living("dash10(app11 app12)")
	l := stopping(t, shown...)
	pipe := details{Writers: map[int][]int{12: {11}}}
	wantSent(t, "while both live", later(l, 10, shown, pipe))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	shown = living("app11 app12")
	wantSent(t, "the writer", later(l, 20, shown, pipe), 11)
	l.Exited(11, 0)
	wantSent(t, "the busy reader", later(l, 30, shown[1:], details{}))
	wantSent(t, "by the last call", call(l, shown[1:]...), 12)
}

// The end of its last writer wakes a process that waits for its input. One that has slept through it is
// busy with something else.
func TestWhatSleptWhenItsWriterEndedIsNoReader(t *testing.T) {
	for switches, want := range map[uint64][]int{7: {12}, 8: nil} { // before the end and after it
		shown := living("dash10(app11 app12)")
		l := stopping(t, shown...)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		shown = living("app11 app12")
		shown[0].PGID = 11 // it may signal its group
		shown[1].Evidence = []proc.Thread{{TID: 12, Switches: 7}}
		later(l, 20, shown, details{Writers: map[int][]int{12: {11}}})
		l.Exited(11, 0)
		shown[1].Evidence = []proc.Thread{{TID: 12, Switches: switches}}
		wantSent(t, "a snapshot that may have begun before its end", later(l, 30, shown[1:], details{}))
		wantSent(t, fmt.Sprint(switches, " switches"), later(l, 40, shown[1:], details{}), want...)
	}
}

// The signal that it ignores would not have woken it, so that what it started may have had it.
func TestWhatIgnoresTheSignalIsNotUntouched(t *testing.T) {
	for _, kind := range []string{"ignores", "init"} {
		l := stopping(t, living("app10("+kind+"11(app12))")...)
		l.Exited(10, 0)
		shown := living(kind + "11(app12)")
		d := details{Untouched: untouched(11)}
		wantSent(t, kind, append(later(l, 100, shown, d), later(l, 200, shown, d)...))
	}
}

// A handler may ignore the signal, or block it, before it passes it on.
func TestWhatHadAHandlerIsNotDeaf(t *testing.T) {
	for name, guard := range map[string]func(*proc.Process){
		"it ignores it now":         func(p *proc.Process) { p.Handled, p.Ignored = 0, termSet },
		"it blocks another one now": func(p *proc.Process) { p.Blocked, p.Pending = termSet, termSet },
		"it has none as an init":    func(p *proc.Process) { p.Handled, p.NestedInit = 0, true },
	} {
		l := stopping(t, living("app10(app11)")...)
		shown := living("app10(app11)")
		guard(&shown[0])
		wantSent(t, name, append(later(l, 100, shown, details{}), later(l, 200, shown, details{})...))
	}
}

// Its writer is not known: it may have gone, too. A socket is what Node gives a child that reads nothing.
func TestAReaderIsLeftByAWorkerThatExitsByItself(t *testing.T) {
	gone := func(p Purpose) Request {
		return Request{Purpose: p, Signal: unix.SIGTERM, Tick: 1001}
	}
	reads, socket, rests, none := below(11, drainitPID, 100), below(12, drainitPID, 100), below(13, drainitPID, 100), below(14, drainitPID, 100)
	reads.Reads, socket.Reads, rests.Reads = proc.File{Inode: 1}, proc.File{Inode: 2, Socket: true}, proc.File{Inode: 3}
	l := newPlayed()
	l.Exited(10, 0)
	all := func() *proc.Snapshot { return proc.New([]proc.Process{reads, socket, rests, none}) }
	wantSent(t, "at once", sentAll(l, l.deliveries(gone(Orphans), all())), 12, 14)
	rests.Untouched = true
	wantSent(t, "what has not been woken", sentAll(l, l.deliveries(gone(Orphans), all())), 13)
	rests.Untouched = false
	wantSent(t, "in the last call", sentAll(l, l.deliveries(gone(LastCall), all())), 11)
}

// Where the masks can't be read, only its death tells whether a process passed the signal on.
func TestOneOfWhichNoMaskIsTold(t *testing.T) {
	untold := func(pid, ppid int) proc.Process {
		p := below(pid, ppid, 100)
		p.Handled = ^signals.SetOf(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
		return p
	}
	for status, want := range map[unix.WaitStatus][]int{unix.WaitStatus(unix.SIGTERM): {11}, 0: nil, unix.WaitStatus(unix.SIGKILL): nil} {
		l := stopping(t, untold(10, drainitPID), untold(11, 10))
		wantSent(t, "while the worker lives", orphans(l, untold(10, drainitPID), untold(11, 10)))
		l.Exited(10, status)
		wantSent(t, fmt.Sprintf("after its status %d", status), orphans(l, untold(11, drainitPID)), want...)
		l = stopping(t, untold(10, drainitPID))
		l.Exited(10, status)
		wantSent(t, fmt.Sprintf("of an unknown parent, after status %d", status), orphans(l, untold(11, drainitPID)), want...)
	}
	shell := untold(10, drainitPID)
	shell.Comm, shell.Exe = "bash", "bash"
	l := newPlayed()
	if d := l.deliveries(Request{Purpose: Stop, Signal: unix.SIGQUIT}, proc.New([]proc.Process{shell})); len(d) != 1 || d[0].Signal != unix.SIGTERM {
		t.Errorf("a shell on QUIT: %+v", d)
	}
}

// afterTheShell is a stop of a shell's process group: it has died of TERM, and what was below it was
// signalled, too.
func afterTheShell(tree string) *played {
	l, r := newPlayed(), term(Stop)
	r.Mode = ModeGroup
	sentAll(l, l.deliveries(r, proc.New(living(tree))))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	return l
}

func wantSuccessor(t *testing.T, when string, l *played, want int) {
	t.Helper()
	if p := cmp.Or(l.plan.Successor, new(Successor)); p.PID != want {
		t.Errorf("%s: the successor is %d, want %d", when, p.PID, want)
	}
}

// What is dead and has not been waited for may be the successor: the choice waits for it, for
// three snapshots.
func TestChoiceOfASuccessorWaitsForTheDead(t *testing.T) {
	for _, tt := range []struct{ snapshots, want int }{{0, 11}, {1, 11}, {mostDeferred, 11}, {mostDeferred + 1, 0}} {
		l := afterTheShell("dash10(app11(app13))") // 11 has waited for 13
		for range tt.snapshots {
			orphans(l)
			wantSuccessor(t, "before its exit", l, 0)
		}
		l.Exited(11, 0)
		l.plan.Successor = l.PromoteLast()
		wantSuccessor(t, fmt.Sprint("it was waited for after ", tt.snapshots, " snapshots"), l, tt.want)
	}
}

// It waits neither for one that lives, nor for one that another will wait for.
func TestChoiceOfASuccessorIsMadeAtOnce(t *testing.T) {
	l := afterTheShell("dash10(app11)")
	orphans(l, kindly("app", 11, 1))
	wantSuccessor(t, "it lives", l, 11)
	if sig := l.plan.Successor.Sent; sig != unix.SIGTERM {
		t.Errorf("it was sent %v, want TERM", sig)
	}

	l = afterTheShell("dash10(dash11(app12))")
	orphans(l, kindly("dash", 11, 1))
	wantSuccessor(t, "the shell above the dead one lives", l, 11)

	l = afterTheShell("dash10(npm_with_its_handler11 app12)")
	orphans(l, living("npm_with_its_handler11 app12")...)
	wantSuccessor(t, "a signalled launcher beside it is about to die of that", l, 12)

	l = stopping(t, living("dash10(dash11)")...)
	orphans(l, living("dash10(app11)")...)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	orphans(l, living("app11")...)
	wantSuccessor(t, "it has got its handler by an exec", l, 11)

	l = newPlayed()
	r, fork := term(Stop), living("bash10(app11)")
	r.Mode, fork[1].Start = ModeGroup, 1001
	sentAll(l, l.deliveries(r, proc.New(living("bash10"))))
	orphans(l, slices.Clone(fork)...)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	fork[1].PPID = drainitPID
	orphans(l, fork[1])
	wantSuccessor(t, "its fork was under way when its group was signalled", l, 11)

	l = afterTheShell("dash10(app11 app12)")
	l.deliveries(term(Orphans), with(living("app11 app12"), details{Writers: map[int][]int{12: {11}}}))
	wantSuccessor(t, "the other reads what it writes", l, 11)
}
