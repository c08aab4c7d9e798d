package machine

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/phase"
)

// clock0 is when the tests of the machine begin; only differences matter.
var clock0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// moment is one event at a time after clock0.
type moment struct {
	at    time.Duration
	event Event
}

func at(d time.Duration, kind EventKind) moment { return moment{d, Event{Kind: kind}} }

func signalAt(d time.Duration, kind EventKind, sig unix.Signal) moment {
	return moment{d, Event{Kind: kind, Signal: sig}}
}

// play steps a new machine through moments and returns it with the actions of
// the last one.
func play(grace, stopDelay time.Duration, moments ...moment) (*Machine, []Action) {
	m := New(Config{Grace: grace, StopDelay: stopDelay})
	var last []Action
	for _, mo := range moments {
		last = m.Step(clock0.Add(mo.at), mo.event)
	}
	return m, last
}

// Ways into each phase, all at time 0.
var (
	toRunning  = []moment{at(0, Started)}
	toQuiet    = append(slices.Clone(toRunning), at(0, QuietSignaled))
	toDraining = append(slices.Clone(toRunning), signalAt(0, StopSignaled, unix.SIGTERM))
	toCrashed  = append(slices.Clone(toRunning), at(0, WorkerExited))
	toKilling  = append(slices.Clone(toDraining), signalAt(time.Second, StopSignaled, unix.SIGTERM))
	toDone     = append(slices.Clone(toRunning), at(0, NothingLeft))
)

func kinds(actions []Action) []ActionKind {
	var all []ActionKind
	for _, a := range actions {
		all = append(all, a.Kind)
	}
	return all
}

// Every phase × every event, of which nothing else may come.
func TestEachPhaseAndEvent(t *testing.T) {
	none := []ActionKind(nil)
	type step struct {
		phase phase.Phase
		do    []ActionKind
	}
	rows := []struct {
		name string
		in   []moment
		want map[EventKind]step
	}{
		{"starting", nil, map[EventKind]step{
			Started:        {phase.Running, none},
			StopSignaled:   {phase.Done, none},
			QuietSignaled:  {phase.Starting, none},
			ResumeSignaled: {phase.Starting, none},
			OtherSignaled:  {phase.Starting, none},
			WorkerExited:   {phase.Starting, none},
			ChildExited:    {phase.Starting, none},
			NothingLeft:    {phase.Starting, none},
			TimePassed:     {phase.Starting, none},
		}},
		{"running", toRunning, map[EventKind]step{
			Started:        {phase.Running, none},
			StopSignaled:   {phase.Draining, []ActionKind{SignalWorker, AnnounceDrain}},
			QuietSignaled:  {phase.Quiet, []ActionKind{QuietWorker}},
			ResumeSignaled: {phase.Running, []ActionKind{PassThrough}},
			OtherSignaled:  {phase.Running, []ActionKind{PassThrough}},
			WorkerExited:   {phase.Draining, []ActionKind{AnnounceExit, SignalOrphans}},
			ChildExited:    {phase.Running, none},
			NothingLeft:    {phase.Done, none},
			TimePassed:     {phase.Running, none},
		}},
		{"quiet", toQuiet, map[EventKind]step{
			Started:        {phase.Quiet, none},
			StopSignaled:   {phase.Draining, []ActionKind{SignalWorker, AnnounceDrain}},
			QuietSignaled:  {phase.Quiet, []ActionKind{QuietWorker}},
			ResumeSignaled: {phase.Quiet, none}, // for a stop signal may be on its way
			OtherSignaled:  {phase.Quiet, []ActionKind{PassThrough}},
			WorkerExited:   {phase.Draining, []ActionKind{AnnounceExit, SignalOrphans}},
			ChildExited:    {phase.Quiet, none},
			NothingLeft:    {phase.Done, none},
			TimePassed:     {phase.Quiet, none},
		}},
		{"draining after a stop signal", toDraining, map[EventKind]step{
			Started:        {phase.Draining, none},
			StopSignaled:   {phase.Killing, []ActionKind{AnnounceForce, KillTree}},
			QuietSignaled:  {phase.Draining, none},
			ResumeSignaled: {phase.Draining, none},
			OtherSignaled:  {phase.Draining, []ActionKind{PassThrough}},
			WorkerExited:   {phase.Draining, []ActionKind{SignalOrphans}},
			ChildExited:    {phase.Draining, none},
			NothingLeft:    {phase.Done, none},
			TimePassed:     {phase.Draining, none},
		}},
		{"draining after the worker exited", toCrashed, map[EventKind]step{
			Started:        {phase.Draining, none},
			StopSignaled:   {phase.Draining, []ActionKind{AnnounceStop}},
			QuietSignaled:  {phase.Draining, none},
			ResumeSignaled: {phase.Draining, none},
			OtherSignaled:  {phase.Draining, []ActionKind{PassThrough}},
			WorkerExited:   {phase.Draining, []ActionKind{SignalOrphans}}, // a successor
			ChildExited:    {phase.Draining, none},
			NothingLeft:    {phase.Done, none},
			TimePassed:     {phase.Draining, none},
		}},
		{"killing", toKilling, map[EventKind]step{
			Started:        {phase.Killing, none},
			StopSignaled:   {phase.Killing, none},
			QuietSignaled:  {phase.Killing, none},
			ResumeSignaled: {phase.Killing, none},
			OtherSignaled:  {phase.Killing, none},
			WorkerExited:   {phase.Killing, none},
			ChildExited:    {phase.Killing, none},
			NothingLeft:    {phase.Done, none},
			TimePassed:     {phase.Killing, []ActionKind{KillTree}}, // half a second on, the next pass is due
		}},
		{"done", toDone, map[EventKind]step{
			Started: {phase.Done, none}, StopSignaled: {phase.Done, none}, QuietSignaled: {phase.Done, none},
			ResumeSignaled: {phase.Done, none}, OtherSignaled: {phase.Done, none}, WorkerExited: {phase.Done, none},
			ChildExited: {phase.Done, none}, NothingLeft: {phase.Done, none}, TimePassed: {phase.Done, none},
		}},
	}
	for _, row := range rows {
		if len(row.want) != eventCount {
			t.Errorf("%s: %d events, want %d", row.name, len(row.want), eventCount)
		}
		for kind, want := range row.want {
			t.Run(fmt.Sprintf("%s, event %d", row.name, kind), func(t *testing.T) {
				next := moment{at: 500 * time.Millisecond, event: Event{Kind: kind, Signal: unix.SIGTERM}}
				if row.in != nil && row.name == "killing" {
					next.at = 1500 * time.Millisecond
				}
				m, do := play(time.Minute, 0, append(slices.Clone(row.in), next)...)
				if m.Phase() != want.phase || !slices.Equal(kinds(do), want.do) {
					t.Errorf("%v with actions %v, want %v with %v", m.Phase(), kinds(do), want.phase, want.do)
				}
			})
		}
	}
}

func TestResume(t *testing.T) {
	const cont = 300 * time.Millisecond
	toResuming := append(slices.Clone(toQuiet), at(cont, ResumeSignaled))
	for _, tt := range []struct {
		name    string
		moments []moment
		phase   phase.Phase
		do      []ActionKind
	}{
		{"waits 50 ms", []moment{at(cont+49*time.Millisecond, TimePassed)}, phase.Quiet, nil},
		{"and no longer", []moment{at(cont+50*time.Millisecond, TimePassed)}, phase.Running, []ActionKind{ResumeWorker}},
		{"comes once", []moment{at(cont+50*time.Millisecond, TimePassed), at(cont+time.Second, TimePassed)}, phase.Running, nil},
		{"is not put off by another CONT", []moment{at(cont+30*time.Millisecond, ResumeSignaled), at(cont+50*time.Millisecond, TimePassed)},
			phase.Running, []ActionKind{ResumeWorker}},
		{"does not come behind a stop", []moment{signalAt(cont+40*time.Millisecond, StopSignaled, unix.SIGTERM), at(cont+50*time.Millisecond, TimePassed)},
			phase.Draining, nil},
		{"does not come behind a TSTP", []moment{at(cont+40*time.Millisecond, QuietSignaled), at(cont+50*time.Millisecond, TimePassed)}, phase.Quiet, nil},
		{"does not come behind the worker's end", []moment{at(cont+40*time.Millisecond, WorkerExited), at(cont+50*time.Millisecond, TimePassed)},
			phase.Draining, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, do := play(time.Minute, 0, append(slices.Clone(toResuming), tt.moments...)...)
			if m.Phase() != tt.phase || !slices.Equal(kinds(do), tt.do) {
				t.Errorf("%v with actions %v, want %v with %v", m.Phase(), kinds(do), tt.phase, tt.do)
			}
		})
	}
}

func TestStopSignals(t *testing.T) {
	second := func(d time.Duration, sig unix.Signal) moment { return signalAt(d, StopSignaled, sig) }
	tests := []struct {
		name      string
		grace     time.Duration
		stopDelay time.Duration
		moments   []moment
		phase     phase.Phase
		do        []Action
	}{
		{"the signal that came is sent", time.Minute, 0, append(toRunning, second(0, unix.SIGINT)),
			phase.Draining, []Action{{SignalWorker, unix.SIGINT}, {AnnounceDrain, unix.SIGINT}}},
		{"twice within 100 ms is one request", time.Minute, 0, append(toDraining, second(99*time.Millisecond, unix.SIGTERM)),
			phase.Draining, []Action{{AnnounceSame, unix.SIGTERM}}},
		{"another one within 100 ms is one request", time.Minute, 0, append(toDraining, second(99*time.Millisecond, unix.SIGINT)),
			phase.Draining, []Action{{AnnounceSame, unix.SIGINT}}},
		{"the 100 ms count from the first", time.Minute, 0,
			append(toDraining, second(90*time.Millisecond, unix.SIGTERM), second(110*time.Millisecond, unix.SIGTERM)),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"a second one after 100 ms forces", time.Minute, 0, append(toDraining, second(SameRequest, unix.SIGTERM)),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"a second one 300 ms later forces", time.Minute, 0, append(toDraining, second(300*time.Millisecond, unix.SIGINT)),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"drainit stop --force forces, however soon", time.Minute, 0, append(toDraining, moment{0, Event{Kind: StopSignaled, Signal: unix.SIGTERM, Forced: true}}),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"grace 0 kills at once", 0, 0, append(toRunning, second(0, unix.SIGTERM)),
			phase.Killing, []Action{{Kind: AnnounceOver}, {Kind: KillTree}}},
		{"grace 0 kills what a worker leaves", 0, 0, append(toRunning, at(0, WorkerExited)),
			phase.Killing, []Action{{Kind: AnnounceExit}, {Kind: AnnounceOver}, {Kind: KillTree}}},
		{"the first one after the worker exited is sent to none again", time.Minute, 0, append(toCrashed, second(time.Second, unix.SIGTERM)),
			phase.Draining, []Action{{AnnounceStop, unix.SIGTERM}}},
		{"the second one after the worker exited forces", time.Minute, 0,
			append(toCrashed, second(time.Second, unix.SIGTERM), second(2*time.Second, unix.SIGTERM)),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"a stop delay is quiet first", time.Minute, 5 * time.Second, append(toRunning, second(0, unix.SIGTERM)),
			phase.Draining, []Action{{AnnounceDrain, unix.SIGTERM}, {Kind: QuietWorker}}},
		{"a stop delay ends in the signal", time.Minute, 5 * time.Second, append(toRunning, second(0, unix.SIGINT), at(5*time.Second, TimePassed)),
			phase.Draining, []Action{{SignalWorker, unix.SIGINT}, {AnnounceSignaled, unix.SIGINT}, {Kind: AnnounceProgress}}},
		{"a stop delay is none after quiet", time.Minute, 5 * time.Second, append(toQuiet, second(0, unix.SIGTERM)),
			phase.Draining, []Action{{SignalWorker, unix.SIGTERM}, {AnnounceDrain, unix.SIGTERM}}},
		{"a second one in the stop delay forces", time.Minute, 5 * time.Second,
			append(toRunning, second(0, unix.SIGTERM), second(time.Second, unix.SIGTERM)),
			phase.Killing, []Action{{Kind: AnnounceForce}, {Kind: KillTree}}},
		{"a worker that exits in the stop delay is not signalled", time.Minute, 4 * time.Second,
			append(toRunning, second(0, unix.SIGTERM), at(time.Second, WorkerExited), at(4*time.Second, TimePassed)),
			phase.Draining, []Action{{Kind: SignalOrphans}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, do := play(tt.grace, tt.stopDelay, slices.Clone(tt.moments)...)
			if m.Phase() != tt.phase || !slices.Equal(do, tt.do) {
				t.Errorf("%v with %v, want %v with %v", m.Phase(), do, tt.phase, tt.do)
			}
		})
	}
}

func TestGraceEnds(t *testing.T) {
	term := func(d time.Duration) moment { return signalAt(d, StopSignaled, unix.SIGTERM) }
	tests := []struct {
		name    string
		grace   time.Duration
		moments []moment
		end     time.Duration // 0: never
	}{
		{"counts from the stop signal", 25 * time.Second, append(toQuiet, term(3*time.Second)), 28 * time.Second},
		{"infinite after a stop signal", Forever, append(toRunning, term(0)), 0},
		{"bounded by the grace when the worker exited", 10 * time.Second, toCrashed, 10 * time.Second},
		{"bounded by 30 s when the worker exited", time.Hour, toCrashed, 30 * time.Second},
		{"bounded by 30 s though infinite, when the worker exited", Forever, toCrashed, 30 * time.Second},
		{"starts anew at the first stop signal after that", time.Minute, append(toCrashed, term(20*time.Second)), 80 * time.Second},
		{"is infinite after that, if it is", Forever, append(toCrashed, term(20*time.Second)), 0},
		{"goes on when the worker exits", 10 * time.Second, append(toDraining, at(4*time.Second, WorkerExited)), 10 * time.Second},
		{"is not moved by the same request", 10 * time.Second, append(toDraining, term(50*time.Millisecond)), 10 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := play(tt.grace, 0, slices.Clone(tt.moments)...)
			end, ok := m.GraceEnd()
			if ok != (tt.end != 0) || ok && !end.Equal(clock0.Add(tt.end)) {
				t.Errorf("ends %v (%v), want %v", end.Sub(clock0), ok, tt.end)
			}
		})
	}
}

// Idle costs nothing: once the worker was inspected, no deadline wakes drainit.
func TestNoDeadlineWithoutAStop(t *testing.T) {
	inspected := at(10*time.Second, TimePassed)
	for _, moments := range [][]moment{nil, append(slices.Clone(toRunning), inspected), append(slices.Clone(toQuiet), inspected), toDone} {
		m, _ := play(time.Minute, time.Second, moments...)
		if d, ok := m.Deadline(); ok {
			t.Errorf("%v has a deadline %v", m.Phase(), d)
		}
	}
}

func TestTheWorkerIsInspectedOnce(t *testing.T) {
	for _, in := range [][]moment{toRunning, toQuiet} {
		m, _ := play(time.Minute, 0, in...)
		wantDeadline(t, m, 10*time.Second)
		if do := m.Step(clock0.Add(9*time.Second), Event{Kind: TimePassed}); len(do) > 0 {
			t.Errorf("%v before its time", do)
		}
		if do := m.Step(clock0.Add(10*time.Second), Event{Kind: TimePassed}); !slices.Equal(kinds(do), []ActionKind{Inspect}) {
			t.Errorf("actions %v after 10 s", do)
		}
	}
	m, _ := play(time.Minute, 0, append(slices.Clone(toDraining), at(10*time.Second, TimePassed))...)
	if do := m.Step(clock0.Add(11*time.Second), Event{Kind: TimePassed}); slices.Contains(kinds(do), Inspect) {
		t.Error("inspected in the drain")
	}
}

// The last call comes 5 s before the kill, or after three quarters of a grace under 20 s; the final call
// 2 s before it, or after nine tenths. A child that comes then is signalled as well.
func TestCallsAtTheEndOfTheGrace(t *testing.T) {
	for grace, calls := range map[time.Duration][2]time.Duration{
		time.Minute:      {55 * time.Second, 58 * time.Second},
		12 * time.Second: {9 * time.Second, 10800 * time.Millisecond},
		Forever:          {Forever, Forever},
	} {
		m, _ := play(grace, 0, toDraining...)
		for at := time.Second; at < min(grace, time.Hour); at += 200 * time.Millisecond {
			for _, did := range kinds(m.Step(clock0.Add(at), Event{Kind: TimePassed})) {
				if isSnapshot(did) && did != [...]ActionKind{SignalOrphans, LastCall, FinalCall}[callsDue(calls, at)] {
					t.Fatalf("grace %v: action %d after %v", grace, did, at)
				}
			}
		}
	}
}

// callsDue is how many of the calls are due.
func callsDue(calls [2]time.Duration, at time.Duration) (n int) {
	for _, call := range calls {
		if at >= call {
			n++
		}
	}
	return n
}

// A stop delay that ends in the last seconds leaves time for the last call.
func TestLastCallAfterALongStopDelay(t *testing.T) {
	m, _ := play(4*time.Second, 3200*time.Millisecond, append(slices.Clone(toRunning), signalAt(0, StopSignaled, unix.SIGTERM),
		at(3*time.Second, TimePassed), at(3200*time.Millisecond, TimePassed))...)
	wantDeadline(t, m, 3300*time.Millisecond)
	if do := m.Step(clock0.Add(3300*time.Millisecond), Event{Kind: TimePassed}); !slices.Contains(kinds(do), LastCall) {
		t.Errorf("actions %v", kinds(do))
	}
}

func TestGraceOverKillsAndLeaves(t *testing.T) {
	m, do := play(10*time.Second, 0, append(slices.Clone(toDraining), at(10*time.Second, TimePassed))...)
	if want := []ActionKind{AnnounceOver, KillTree}; m.Phase() != phase.Killing || !slices.Equal(kinds(do), want) {
		t.Fatalf("%v with %v at the end of the grace", m.Phase(), kinds(do))
	}
	do = m.Step(clock0.Add(15*time.Second), Event{Kind: TimePassed})
	if want := []ActionKind{AnnounceStuck}; m.Phase() != phase.Done || !slices.Equal(kinds(do), want) {
		t.Errorf("%v with %v 5 s after the kill", m.Phase(), kinds(do))
	}
}

// A snapshot follows each death, but not one each: the more one costs, the longer
// the next one waits.
func TestSnapshotsForOrphans(t *testing.T) {
	m, do := play(time.Minute, 0, append(slices.Clone(toDraining), at(100*time.Millisecond, WorkerExited))...)
	if !slices.Equal(kinds(do), []ActionKind{SignalOrphans}) {
		t.Errorf("actions %v when the worker exits", do)
	}
	wantDeadline(t, m, 1100*time.Millisecond)
	m.SnapshotTook(clock0.Add(100*time.Millisecond), 5*time.Millisecond) // which is not long yet
	m.Step(clock0.Add(101*time.Millisecond), Event{Kind: ChildExited})
	wantDeadline(t, m, 102*time.Millisecond)
	m.SnapshotTook(clock0.Add(100*time.Millisecond), 5*time.Millisecond+1)
	m.Step(clock0.Add(110*time.Millisecond), Event{Kind: ChildExited})
	wantDeadline(t, m, 120*time.Millisecond+4)
	m.Step(clock0.Add(115*time.Millisecond), Event{Kind: ChildExited})
	wantDeadline(t, m, 120*time.Millisecond+4) // not put off by one death after the other
	do = m.Step(clock0.Add(121*time.Millisecond), Event{Kind: TimePassed})
	if !slices.Equal(kinds(do), []ActionKind{SignalOrphans}) {
		t.Errorf("actions %v", kinds(do))
	}
	wantDeadline(t, m, 1121*time.Millisecond)
	m.SnapshotTook(clock0.Add(220*time.Millisecond), 100*time.Millisecond)
	m.Step(clock0.Add(230*time.Millisecond), Event{Kind: ChildExited})
	wantDeadline(t, m, 620*time.Millisecond)
}

// The snapshot each second, and the ten a second of the last call, wait as long for one
// that has taken its time.
func TestSlowSnapshotsPutOffTheNext(t *testing.T) {
	for name, tt := range map[string]struct{ after, took, next time.Duration }{
		"a quick one":      {time.Second, 5 * time.Millisecond, 2 * time.Second},
		"a slow one":       {time.Second, 500 * time.Millisecond, 3500 * time.Millisecond},
		"a quick last one": {55 * time.Second, 5 * time.Millisecond, 55100 * time.Millisecond},
		"a slow last one":  {55 * time.Second, 500 * time.Millisecond, 57500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := play(time.Minute, 0, append(slices.Clone(toDraining), at(tt.after, TimePassed))...)
			m.SnapshotTook(clock0.Add(tt.after+tt.took), tt.took)
			wantDeadline(t, m, tt.next)
		})
	}
	m := New(Config{Grace: time.Minute})
	m.SnapshotTook(clock0, time.Second)
	if at, ok := m.Deadline(); ok {
		t.Errorf("a deadline in %v, though no drain has begun", at.Sub(clock0))
	}
}

func wantDeadline(t *testing.T, m *Machine, want time.Duration) {
	t.Helper()
	if d, ok := m.Deadline(); !ok || !d.Equal(clock0.Add(want)) {
		t.Errorf("deadline %v (%v), want %v", d.Sub(clock0), ok, want)
	}
}

// The next snapshot comes soon after a signal; then the later, the longer none was sent, and the sooner
// where the death of a parent may not be known.
func TestNextSnapshotOfADrain(t *testing.T) {
	for _, tt := range []struct {
		after   time.Duration // the signal
		watched bool
		want    time.Duration
	}{
		{0, true, snapshotSoon}, {snapshotSoon - 1, true, 1}, {snapshotSoon, true, time.Second},
		{4 * time.Second, true, 2 * time.Second}, {40 * time.Second, true, 5 * time.Second}, {40 * time.Second, false, time.Second},
		{56 * time.Second, true, time.Second}, {56 * time.Second, false, 100 * time.Millisecond}, // the last call
	} {
		m, _ := play(time.Minute, 0, toDraining...)
		m.Observed(clock0, true, tt.watched)
		m.Step(clock0.Add(tt.after), Event{Kind: TimePassed})
		m.Observed(clock0.Add(tt.after), false, tt.watched)
		if got := m.timers[snapshotTimer].Sub(clock0) - tt.after; got != tt.want {
			t.Errorf("%v after a signal, watched %v: the next is due after %v, want %v", tt.after, tt.watched, got, tt.want)
		}
	}
}

// A snapshot that took long puts off the next one, whatever it is for.
func TestNextSnapshotHeedsTheCostOfTheLast(t *testing.T) {
	m, _ := play(time.Minute, 0, toDraining...)
	m.SnapshotTook(clock0, 100*time.Millisecond)
	m.Observed(clock0, true, true)
	wantDeadline(t, m, 400*time.Millisecond)
}

// A drain in which nothing happens takes a sixtieth of the time, its lines of progress
// included.
func TestSnapshotsOfAnIdleDrain(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{time.Millisecond: 5 * time.Second, 50 * time.Millisecond: 5 * time.Second, 500 * time.Millisecond: 30 * time.Second} {
		m, _ := play(time.Minute, 0, toDraining...)
		m.acted = clock0.Add(-time.Minute)
		m.SnapshotTook(clock0, took)
		m.Observed(clock0, false, true)
		if next, progress := m.at(snapshotTimer).Sub(clock0), m.at(progressTimer).Sub(clock0); next != want || progress != want {
			t.Errorf("one took %v: the next is due after %v, the line after %v, want %v", took, next, progress, want)
		}
	}
}

// A drain in which children die all the time says how far it is, however long snapshots take:
// the line costs none of its own then.
func TestProgressOfABusyDrain(t *testing.T) {
	m, _ := play(time.Minute, 0, toDraining...)
	lines := 0
	for now := clock0; now.Before(clock0.Add(20 * time.Second)); now = now.Add(100 * time.Millisecond) {
		m.Step(now, Event{Kind: ChildExited})
		do := kinds(m.Step(now, Event{Kind: TimePassed}))
		if slices.Contains(do, SignalOrphans) {
			m.SnapshotTook(now, 100*time.Millisecond)
		}
		if slices.Contains(do, AnnounceProgress) {
			lines++
		}
	}
	if lines != 3 {
		t.Errorf("%d lines in 20s, want 3", lines)
	}
}
