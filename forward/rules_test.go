package forward

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// at is how an orphan and the one above it are when the question comes up.
type at struct {
	orphan  proc.Process // 12, whose parent was 11, which the worker started
	parent  string       // the kind of 11
	passing string       // the kind of the worker, 10
	lives   bool         // the worker still handles the stop
	details details
}

// play is a stop by TERM in which 11 dies of what the worker has sent it.
func (a at) play(t *testing.T) (*Ledger, []int) {
	t.Helper()
	below := a.orphan
	below.PPID = 11
	worker := kindly(a.passing, 10, 1)
	l := stopping(t, worker, kindly(a.parent, 11, 10), below)
	a.orphan.PPID = drainitPID
	shown := []proc.Process{a.orphan}
	if a.lives {
		shown = append(shown, worker)
	} else {
		l.Exited(10, 0)
	}
	return l, later(l, 1, shown, a.details)
}

func TestUntouchedComesBeforeEveryGuess(t *testing.T) {
	app := kindly("app", 12, 1)
	for name, a := range map[string]at{
		"the worker lives":                  {app, "dash", "app", true, details{}},
		"another may have signalled it":     {app, "dies", "app", false, details{}},
		"a relay has signalled its group":   {app, "dash", "timeout", false, details{}},
		"the worker has passed it on":       {app, "app", "app", false, details{}},
		"its parent handled it and left":    {app, "bash", "app", false, details{}},
		"a launcher that lives is above":    {app, "dash", "pnpm", true, details{}},
		"a relay that is a program's own":   {app, "dies", "supervisord", true, details{}},
		"the shell above it has its trap":   {app, "bash", "bash", false, details{}},
		"a relay above it lives":            {app, "dash", "timeout", true, details{}},
		"its parent is a relay to one":      {app, "su", "app", true, details{}},
		"the worker is a relay to one":      {app, "dies", "su", true, details{}},
		"its parent ignores it, and leaves": {app, "ignores", "app", true, details{}},
	} {
		if _, got := a.play(t); len(got) > 0 && a.lives {
			t.Errorf("%s, and it may have been touched: signalled %v", name, got)
		}
		a.details.Untouched = untouched(12)
		if _, got := a.play(t); len(got) > 0 && a.lives {
			t.Errorf("%s, and runs: signalled %v", name, got)
		}
		a.details.Asleep = map[int]bool{10: true}
		_, got := a.play(t)
		wantSent(t, name, got, 12)
		a.details.Writers = map[int][]int{12: {13}}
		_, got = a.play(t)
		wantSent(t, name+", and it reads a pipe", got)
	}
}

// One that signals others one after the other may be kept from it for a while. It has a
// second.
func TestWhatIsUntouchedWaitsForOneThatRunsASecondAtMost(t *testing.T) {
	a := at{kindly("app", 12, 1), "dash", "app", true, details{Untouched: untouched(12)}}
	l, got := a.play(t)
	wantSent(t, "at first", got)
	if !l.Holding() {
		t.Error("it is not looked at again soon")
	}
	shown := []proc.Process{kindly("app", 10, 1), a.orphan}
	wantSent(t, "before a second has gone by", later(l, aSecond, shown, a.details))
	wantSent(t, "then", later(l, aSecond+1, shown, a.details), 12)
}

// What its parent started in the course of the stopping may be there to signal it: a
// sibling, or one in its session whose parent was never seen. It has its turn behind that.
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

// What first shows up as drainit's child may come from one in its session that was signalled
// and had a handler.
func TestWhatWasNeverSeenBelowOneThatHadAHandlerIsLeft(t *testing.T) {
	for kind, want := range map[string][]int{"app": nil, "dash": {12}} {
		newcomer := kindly("app", 12, 1)
		newcomer.Start = 1001
		l := stopping(t, kindly(kind, 10, 1))
		wantSent(t, kind+", before the worker was waited for", orphans(l, newcomer), want...)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		wantSent(t, kind+", then", orphans(l, newcomer))
	}
}

// A daemon has its turn when the worker has gone, touched or not.
func TestAnUntouchedDaemonWaitsForTheWorker(t *testing.T) {
	shown := kinfolk(kin{"app", 10, 1}, kin{"app", 20, 1})
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

// It blocks the signal, and has it pending though drainit sent it none.
func TestWhatHasTheSignalPendingWasSignalled(t *testing.T) {
	blocking := kindly("unknown", 11, 10)
	l := stopping(t, kindly("app", 10, 1), blocking)
	l.Exited(10, 0)
	blocking.PPID, blocking.Pending = drainitPID, termSet
	wantSent(t, "by another", orphans(l, blocking))
	blocking.Pending = 0
	l = stopping(t, kindly("app", 10, 1), kindly("unknown", 11, 10))
	l.Exited(10, 0)
	wantSent(t, "by none", orphans(l, blocking), 11)
}

// What was signalled together with a shell may have ended before the next snapshot.
func TestASuccessorMayHaveEnded(t *testing.T) {
	for name, tt := range map[string]struct {
		below []kin
		ended []int // in this order
		want  int   // 0: the worker's own status stays
	}{
		"the only child":              {[]kin{{"app", 11, 10}}, []int{10, 11}, 11},
		"it ends first":               {[]kin{{"app", 11, 10}}, []int{11, 10}, 11},
		"behind another shell":        {[]kin{{"dash", 11, 10}, {"app", 12, 11}}, []int{10, 11, 12}, 12},
		"one of two":                  {[]kin{{"app", 11, 10}, {"app", 12, 10}}, []int{10, 11, 12}, 0},
		"beside one without handlers": {[]kin{{"app", 11, 10}, {"dies", 12, 10}}, []int{10, 11, 12}, 11},
		"no handler at all":           {[]kin{{"dies", 11, 10}}, []int{10, 11}, 0},
	} {
		l := NewLedger(drainitPID)
		sentAll(l, l.Plan(toGroup(), proc.New(append(kinfolk(tt.below...), kindly("dash", 10, 1)))))
		for _, pid := range tt.ended {
			status := unix.WaitStatus(0)
			if pid == 10 || pid == 11 && len(tt.below) > 1 && tt.below[0].kind == "dash" {
				status = unix.WaitStatus(unix.SIGTERM)
			}
			l.Exited(pid, status)
		}
		l.PromoteLast()
		p, ok := l.Successor()
		for next := p; ok && next.PID != tt.want; { // a shell has one in its turn
			if next, ok = l.Successor(); ok {
				p = next
			}
		}
		if p.PID != tt.want {
			t.Errorf("%s: the successor is %v, want %d", name, p, tt.want)
		}
	}
}

// A program that had a handler for INT once may have ended what is below it. A shell acts
// upon INT behind its child only, so that another sent it to such a shell says nothing.
func TestLastCallBelowWhatHandledINTOnce(t *testing.T) {
	set := signals.SetOf(unix.SIGINT)
	for above, want := range map[string][]int{"app": nil, "bash": {12}} {
		worker, once, app := kindly("unknown", 10, 1), kindly(above, 11, 10), kindly("app", 12, 11)
		once.Handled, app.Handled = set, set
		r := Request{Purpose: Stop, Signal: unix.SIGINT, Worker: Worker{PID: 10}}
		l := NewLedger(drainitPID)
		wantSent(t, "the stop, "+above, sentAll(l, l.Plan(r, proc.New([]proc.Process{worker, once, app}))), 10)
		once.Handled, r.Purpose = 0, LastCall
		wantSent(t, "the last call below "+above, sentAll(l, l.Plan(r, proc.New([]proc.Process{worker, once, app}))), want...)
	}
}
