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

// waitingLines are the lines of the last plan about what was not signalled.
func (l *played) waitingLines() (all []string) {
	for _, w := range l.plan.Waiting {
		all = append(all, fmt.Sprint(w.Processes, " ", w.Rule))
	}
	return all
}

func wantWaiting(t *testing.T, l *played, want ...string) {
	t.Helper()
	if got := l.waitingLines(); !slices.Equal(got, want) {
		t.Errorf("waiting: %q, want %q", got, want)
	}
}

// What is certain is not late, whenever it is seen.
func TestWhatIsCertainHasItsReasonInACall(t *testing.T) {
	l := stopping(t, living("dash10(app11)")...)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	all := l.deliveries(term(LastCall), proc.New(living("app11")))
	if len(all) != 1 || all[0].Late || !strings.HasPrefix(all[0].Rule, "its parent dash[10]") {
		t.Errorf("%+v", all)
	}
}

// A process that may have had the signal while it ignored that is not certain later.
func TestUndecidedStaysSo(t *testing.T) {
	l := stopping(t, living("app10(ignores11)")...)
	l.Exited(10, 0)
	wantSent(t, "it ignores the signal", orphans(l, kindly("ignores", 11, 1)))
	wantWaiting(t, l, "[ignores[11]] may have been signalled by app[10], which has gone")
	wantSent(t, "it would die of it", orphans(l, kindly("dies", 11, 1)))
	wantWaiting(t, l)
}

// A snapshot may have missed the handler of a process that exits in order.
func TestHandlerThatNoSnapshotShowed(t *testing.T) {
	for status, want := range map[unix.WaitStatus][]int{unix.WaitStatus(unix.SIGTERM): {11}, 0: nil} {
		l := stopping(t, living("dies10(app11)")...)
		l.Exited(10, status)
		wantSent(t, fmt.Sprintf("after its status %d", status), orphans(l, living("app11")...), want...)
	}
	l, r, shown := newPlayed(), term(Stop), living("ignores10(dies11(app12))")
	r.Mode, shown[2].PGID = ModeGroup, 12
	sentAll(l, l.deliveries(r, proc.New(shown)))
	shown[2].PPID = drainitPID
	wantSent(t, "where another has waited for it", orphans(l, shown[0], shown[2]), 12)
}

// What cleans up and ignores the signal passes nothing on to what it has started.
func TestBelowWhatCleansUp(t *testing.T) {
	worker, cleanup, job := kindly("app", 10, 1), kindly("ignores", 11, 10), kindly("app", 12, 11)
	cleanup.Start, job.Start = 2000, 2000
	l := stopping(t, worker)
	wantSent(t, "while the worker lives", later(l, 10, []proc.Process{worker, cleanup, job}, details{}))
	l.Exited(10, 0)
	cleanup.PPID = drainitPID
	untouched := details{Untouched: map[proc.ID]bool{job.ID: true}}
	wantSent(t, "it cleans up", later(l, 20, []proc.Process{cleanup, job}, untouched), 12)
}

// A process whose parent no snapshot showed cleans up if one of its session handled the signal.
func TestSessionOfWhatCleansUp(t *testing.T) {
	for sid, want := range map[int]string{
		10: "[app[20]] it cleans up",
		20: "[app[20]] may have been signalled by its parent, which has gone",
	} {
		l := stopping(t, kindly("app", 10, 1))
		l.Exited(10, 0)
		p := kindly("app", 20, 1)
		p.Start, p.SID = 2000, sid
		wantSent(t, "an orphan", orphans(l, p))
		wantWaiting(t, l, want)
	}
}

// A stop command of a trap may have asked it to stop: half a second of sleep shows that it does not.
func TestWhatSleepsIsNotStopping(t *testing.T) {
	for switches, want := range map[uint64][]int{7: {11}, 8: nil} {
		l := stopping(t, living("bash10(dies11)")...)
		l.Exited(10, 0)
		p := kindly("dies", 11, 1)
		p.Evidence = []proc.Thread{{TID: 11, Switches: 7}}
		wantSent(t, "at once", later(l, 10, []proc.Process{p}, details{}))
		p.Evidence = []proc.Thread{{TID: 11, Switches: switches}}
		wantSent(t, "after 0.4 s", later(l, 50, []proc.Process{p}, details{}))
		wantSent(t, fmt.Sprint(switches, " switches, after 0.5 s"), later(l, 61, []proc.Process{p}, details{}), want...)
	}
}

// Where the platform signals each process, drainit signals in the calls alone, and what that has missed.
func TestWhatThePlatformHasMissed(t *testing.T) {
	request := func(p Purpose) Request {
		r := term(p)
		r.Mode = ModeNone
		return r
	}
	worker, slept, dies, later := kindly("app", 10, 1), kindly("app", 11, 10), kindly("dies", 12, 10), kindly("app", 13, 10)
	l := newPlayed()
	wantSent(t, "the stop", sentAll(l, l.deliveries(request(Stop), proc.New([]proc.Process{worker, slept, dies}))))
	d := details{Untouched: untouched(11, 12)}
	shown := []proc.Process{worker, slept, dies, later}
	wantSent(t, "after it", sentAll(l, l.deliveries(request(Orphans), with(shown, d))))
	wantWaiting(t, l, "[app[10] app[11] dies[12] app[13]] the platform signals each process (--forward none)")
	all := l.deliveries(request(LastCall), with(shown, d))
	wantSent(t, "in the last call", sentAll(l, all), 11, 13)
	for _, delivery := range all {
		if !delivery.Late || delivery.Rule != "the platform has not signalled it" {
			t.Errorf("%+v", delivery)
		}
	}
}

// An untouched orphan waits a moment for the process above it that runs, or may have run until it died: a snapshot is
// no moment. A busy one is that one's business.
func TestAnUntouchedOrphanIsHeld(t *testing.T) {
	for name, tt := range map[string]struct {
		tree string
		details
		line string
	}{
		"busy":                           {"app10 app12", details{}, "[app[12]] left to app[10]"},
		"untouched":                      {"app10 app12", details{Untouched: untouched(12)}, "[app[12]] the signalled process above it is still running"},
		"untouched, above it a dead one": {"app12", details{Untouched: untouched(12)}, "[app[12]] the signalled process above it is still running"},
	} {
		l := stopping(t, living("app10(dash11(app12))")...)
		asleep := details{Asleep: map[int]bool{10: true}}
		wantSent(t, name+", before", later(l, 1, living("app10(dash11(app12))"), asleep))
		wantSent(t, name, later(l, 2, living(tt.tree), tt.details))
		wantWaiting(t, l, tt.line)
	}
}

// What has gone is left nothing: the living parent is named.
func TestAProcessIsLeftToALivingOne(t *testing.T) {
	l := stopping(t, living("app10(app11(app12))")...)
	l.Exited(10, 0)
	wantSent(t, "below an orphan", later(l, 500, living("app11(app12)"), details{}))
	wantWaiting(t, l, "[app[11]] may have been signalled by app[10], which has gone", "[app[12]] left to app[11]")
}

// Its parent may have died before any snapshot showed it.
func TestAProcessBelowADeadOneThatWasNeverSeen(t *testing.T) {
	l := stopping(t, living("app10")...)
	shown := living("app10(app11(app12))")
	shown[1].State = 'X'
	wantSent(t, "below it", later(l, 500, shown, details{}))
	wantWaiting(t, l, "[app[12]] left to its parent")
}

// A signalled process that had a handler counts when its record has gone, too.
func TestWhatIsForgottenHadAHandler(t *testing.T) {
	for kind, want := range map[string][]int{"app": nil, "dies": {12}} {
		l := stopping(t, living("dash10")...)
		later(l, 1, living("dash10("+kind+"11 "+kind+"13)"), details{})
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		wantSent(t, kind, orphans(l, living(kind+"11 "+kind+"13")...), 11, 13) // two, so that none is the worker now
		l.Exited(11, unix.WaitStatus(unix.SIGTERM))
		l.Exited(13, unix.WaitStatus(unix.SIGTERM))
		for range 3 {
			orphans(l)
		}
		wantSent(t, "of an unknown parent, after "+kind, orphans(l, living("app12")...), want...)
	}
}

// A process that had gone when its signal came has seen to nothing.
func TestWhatWasDueAndHadGone(t *testing.T) {
	l := stopping(t, living("ignores10(app11(app12))")...)
	r := term(Orphans)
	r.Tick = 1100
	if all := l.deliveries(r, proc.New(living("ignores10(app11(app12))"))); len(all) != 1 || all[0].Process.PID != 11 {
		t.Errorf("%+v", all)
	}
	r.Purpose, r.Tick = FinalCall, 1500
	wantSent(t, "the final call", sentAll(l, l.deliveries(r, proc.New(living("ignores10 app12")))), 12)
}

// A mksh handles TERM without a trap: it does not drain, and what would only die does not wait for it.
func TestAShellWithoutATrapDoesNotDrain(t *testing.T) {
	for kind, want := range map[string][]int{"mksh": {11, 12}, "app": {11}} {
		l := stopping(t, living("dash10("+kind+"11 dies12)")...)
		l.Exited(10, unix.WaitStatus(unix.SIGTERM))
		wantSent(t, "beside "+kind, orphans(l, living(kind+"11 dies12")...), want...)
	}
}

// A shell that dies of the platform's signal has no successor: drainit has sent it none.
func TestNoSuccessorWhereThePlatformSignals(t *testing.T) {
	r, l := term(Stop), newPlayed()
	r.Mode = ModeNone
	l.deliveries(r, proc.New(living("dash10(app11)")))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	if s := l.PromoteLast(); s != nil {
		t.Errorf("%+v", s)
	}
}

// Below a deaf process one that was signalled and has children may have signalled its group.
func TestGroupBelowADeafProcess(t *testing.T) {
	for group, want := range map[int][]int{10: nil, 13: {13}} {
		shown := living("ignores10(app11(app12))")
		l := stopping(t, shown...)
		wantSent(t, "the first", later(l, 10, shown, details{}), 11)
		another := kindly("app", 13, 10)
		another.PGID = group
		wantSent(t, fmt.Sprint("one of group ", group), later(l, 20, append(shown, another), details{}), want...)
	}
}

// The reason says what a process waits for, and what the signal would do to it.
func TestWhyOneBelowAnotherWaits(t *testing.T) {
	shown := living("app10(dies11 ignores12 app13 app14)")
	l := stopping(t, shown...)
	wantSent(t, "the others", later(l, 10, shown, details{Writers: map[int][]int{13: {99}, 14: {13, 14}}}))
	wantWaiting(t, l,
		"[dies[11]] not while app[10] lives: it would only die of the signal",
		"[ignores[12]] not while app[10] lives: it does not act upon the signal",
		"[app[13]] waits until its writer has ended",
		"[app[14]] waits until its writer app[13] has ended")
}

// A call leaves a reader to its writer.
func TestAReaderIsNotCalled(t *testing.T) {
	shown := living("dash10(app11 app12)")
	l := stopping(t, shown...)
	l.Exited(10, 0)
	shown = living("app11 app12")
	wantSent(t, "in the last call", sentAll(l, l.deliveries(term(LastCall), with(shown, details{Writers: map[int][]int{12: {11}}}))), 11)
}

// A shell is sent a signal in place of TERM only by its own trap, and a launcher never.
func TestWhatIsSentInPlaceOfTERM(t *testing.T) {
	both := signals.SetOf(unix.SIGQUIT, unix.SIGTERM, unix.SIGINT)
	for _, tt := range []struct {
		kind    string
		deliver unix.Signal
		handled signals.Set
		want    unix.Signal
	}{
		{"app", unix.SIGQUIT, both, unix.SIGQUIT},
		{"app", unix.SIGQUIT, 0, unix.SIGQUIT}, // the worker
		{"bash", unix.SIGQUIT, both, unix.SIGQUIT},
		{"bash", unix.SIGQUIT, termSet, unix.SIGTERM},
		{"bash", unix.SIGINT, both, unix.SIGTERM},
		{"npm with its handler", unix.SIGQUIT, both, unix.SIGTERM},
	} {
		p := kindly(tt.kind, 10, 1)
		p.Handled = tt.handled
		r := term(Stop)
		r.Signal = tt.deliver
		l := newPlayed()
		if all := l.deliveries(r, proc.New([]proc.Process{p})); len(all) != 1 || all[0].Signal != tt.want {
			t.Errorf("%s on %v, kind %v: %+v", tt.kind, tt.deliver, program.Of(&p), all)
		}
	}
}

// The last call may signal an orphan, which the final call alone did before: its line is written anew.
func TestWhyAnOrphanWaitsIsSaidAnew(t *testing.T) {
	shown, pipe := living("app10(app12)"), details{Writers: map[int][]int{12: {99}}}
	l := stopping(t, shown...)
	for _, step := range []struct {
		parent int
		lines  []string
	}{
		{10, []string{"[app[12]] waits until its writer has ended"}}, {10, nil},
		{drainitPID, []string{"[app[12]] waits until its writer has ended"}}, {drainitPID, nil},
	} {
		shown[1].PPID = step.parent
		wantSent(t, "a reader", later(l, 10, slices.Clone(shown), pipe))
		wantWaiting(t, l, step.lines...)
	}
}
