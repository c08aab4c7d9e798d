package machine

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// place is a machine in a walk over all of them, with what the machine itself does not
// keep of its past.
type place struct {
	m         Machine
	now       time.Time
	exited    bool // the worker has, so that there is none to be signalled
	signalled bool // SignalWorker came
	inspected bool // Inspect came
	came      string
}

// stage is a place without its time: two places of one stage do the same for ever.
type stage struct {
	phase                        Phase
	requested                    uint8 // 0: no; 1: less than SameRequest ago; 2: longer
	exited, signalled, inspected bool
	timers                       [timerCount]distance
	pause                        uint8
	idle                         bool // the next line of progress waits for the last snapshot, too
}

// distance is one timer: how far off it is, and which others it comes before.
type distance struct {
	off, rank uint8
}

// marks are where the distance of a timer begins to matter: what is between two of them is
// one to a walk. They are the times that timers are set to, and those which the grace is
// compared with.
var marks = []time.Duration{0, snapshotApart, ResumeAfter, SameRequest, snapshotEvery, lastCallTime,
	inspectAfter, CrashGrace - lastCallTime, CrashGrace}

// stageOf takes the time out of a place.
func stageOf(p *place) stage {
	s := stage{phase: p.m.phase, exited: p.exited, signalled: p.signalled, inspected: p.inspected}
	if p.m.Requested() {
		s.requested = 1
		if p.now.Sub(p.m.RequestedAt()) >= SameRequest {
			s.requested = 2
		}
	}
	for t := range timerCount {
		if !p.m.isSet(t) {
			continue
		}
		s.timers[t].off = 1 + off(p.m.at(t).Sub(p.now))
		for other := range timerCount {
			if p.m.isSet(other) && p.m.at(other).Before(p.m.at(t)) {
				s.timers[t].rank++
			}
		}
	}
	s.pause = off(p.m.pauseEnd(share).Sub(p.now))
	s.idle = p.m.pauseEnd(idleShare).After(p.now.Add(progressEvery))
	return s
}

// off is the number of marks that a distance has reached.
func off(d time.Duration) uint8 {
	n, exact := slices.BinarySearch(marks, d)
	if exact {
		return uint8(2*n + 1)
	}
	return uint8(2 * n)
}

type walk struct {
	t *testing.T
	Config
	seen        map[stage]bool
	todo        []*place
	reached     [Count]bool
	transitions int
}

// waits are how long after the last one an event comes: at once, and on either side of
// each time that is compared with. A loop that is late may have it come behind a deadline.
var waits = []time.Duration{0, time.Millisecond, ResumeAfter, SameRequest, snapshotEvery, CrashGrace}

// Every stage that a machine can reach × every event, for graces and stop delays of each
// kind. A timer is an event of its own: the time goes on to the next deadline, or beyond.
// What must hold in each is in checkStage and checkStep.
func TestEveryStateOfTheMachine(t *testing.T) {
	graces := []time.Duration{0, 2 * time.Second}
	if os.Getenv("DRAINIT_TEST_ALL") != "" { // half a minute
		graces = append(graces, 30*time.Second, Forever)
	}
	for _, grace := range graces {
		for _, stopDelay := range []time.Duration{0, time.Second} {
			if stopDelay > 0 && stopDelay >= grace {
				continue // refused by package cli
			}
			for _, flags := range []Config{{}, {SecondStopIgnored: true}, {EndsWithWorker: true}} {
				flags.Grace, flags.StopDelay = grace, stopDelay
				walkAll(t, flags)
			}
		}
	}
}

func walkAll(t *testing.T, cfg Config) {
	w := &walk{t: t, Config: cfg, seen: make(map[stage]bool)}
	w.visit(&place{m: *New(cfg), now: clock0})
	for len(w.todo) > 0 {
		p := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		w.leave(p)
	}
	t.Logf("%+v: %d states, %d transitions", cfg, len(w.seen), w.transitions)
	for p := range Phase(Count) { // the walk went everywhere
		if !w.reached[p] && !(cfg.Grace == 0 && p == Draining) {
			t.Errorf("%+v: no state is %v", cfg, p)
		}
	}
}

// visit puts a place that is new into the search.
func (w *walk) visit(p *place) {
	s := stageOf(p)
	if w.seen[s] {
		return
	}
	w.seen[s], w.reached[p.m.phase] = true, true
	w.checkStage(p)
	w.todo = append(w.todo, p)
}

// leave takes every event in a place, after each wait.
func (w *walk) leave(p *place) {
	for kind := range EventKind(eventCount) {
		for _, wait := range waits {
			w.step(p, p.now.Add(wait), Event{Kind: kind, Signal: unix.SIGTERM})
			w.step(p, p.now.Add(wait), Event{Kind: kind, Signal: unix.SIGTERM, Forced: true})
		}
	}
	if at, ok := p.m.Deadline(); ok {
		for _, late := range []time.Duration{0, time.Millisecond, time.Second, time.Hour} {
			w.step(p, latest(p.now, at).Add(late), Event{Kind: TimePassed})
		}
	}
}

// step takes one event. A snapshot takes as long as it does, or a second.
func (w *walk) step(from *place, now time.Time, e Event) {
	w.transitions++
	p := *from
	p.now = now
	p.came = fmt.Sprintf("event %d, %v later, in %v", e.Kind, now.Sub(from.now), from.m.phase)
	actions := withoutSignals(p.m.Step(now, e))
	p.exited = p.exited || e.Kind == WorkerExited && from.m.phase != Starting
	w.checkStep(from, &p, e, actions)
	p.signalled = p.signalled || has(actions, SignalWorker)
	p.inspected = p.inspected || has(actions, Inspect)
	if has(actions, ResumeWorker) {
		after := p
		after.m.Resumed()
		w.visit(&after)
	}
	if !slices.ContainsFunc(actions, func(a Action) bool { return a.Kind == SignalWorker || isSnapshot(a) }) {
		w.visit(&p)
		return
	}
	for _, took := range []time.Duration{0, 10 * time.Millisecond, time.Second} {
		after := p
		after.now = now.Add(took)
		after.m.SnapshotTook(after.now, took)
		w.visit(&after)
	}
}

func (w *walk) fatalf(p *place, format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("grace %v, stop delay %v, after %s: "+format,
		append([]any{w.Grace, w.StopDelay, p.came}, args...)...)
}

func (w *walk) checkStage(p *place) {
	m := &p.m
	at, ok := m.Deadline()
	is := m.isSet
	switch m.phase {
	case Starting, Done:
		if ok {
			w.fatalf(p, "a deadline %v when %v", at.Sub(p.now), m.phase)
		}
	case Running, Quiet:
		if ok != (is(inspectTimer) || is(resumeTimer)) || is(inspectTimer) == p.inspected ||
			is(resumeTimer) && m.phase == Running {
			w.fatalf(p, "timers %v in %v, inspected %v", m.timers, m.phase, p.inspected)
		}
	case Draining:
		requested := m.Requested()
		forever := w.Grace == Forever && requested
		if !ok || !is(progressTimer) || is(snapshotTimer) == is(delayTimer) || is(graceTimer) == forever ||
			forever && is(lastCallTimer) {
			w.fatalf(p, "timers %v in a drain", m.timers)
		}
		if is(delayTimer) && (p.signalled || p.exited) {
			w.fatalf(p, "a stop delay with the worker signalled %v, or gone %v", p.signalled, p.exited)
		}
	case Killing:
		if !is(killTimer) || !is(leaveTimer) {
			w.fatalf(p, "timers %v in a kill", m.timers)
		}
	}
	if end, ok := m.GraceEnd(); ok && (m.phase != Draining || end.After(p.now.Add(max(w.Grace, 0)))) {
		w.fatalf(p, "the grace ends in %v, in %v", end.Sub(p.now), m.phase)
	}
	w.checkEnd(p)
}

// checkEnd lets time pass alone: a drain whose grace is not infinite and a kill come to an
// end, no deadline is answered by itself, and none is more than a second off in a drain.
func (w *walk) checkEnd(from *place) {
	if from.m.phase != Draining && from.m.phase != Killing {
		return
	}
	const most = 400 // deadlines in the longest drain and kill
	p := *from
	for range most {
		at, ok := p.m.Deadline()
		if !ok {
			return
		}
		if at.After(p.now.Add(snapshotEvery)) && !p.m.isSet(delayTimer) && !p.m.pauseEnd(share).After(p.now) {
			w.fatalf(&p, "the next deadline is %v off: now %v, %v, the pause is over at %v", at.Sub(p.now),
				p.now, p.m.timers, p.m.pauseEnd(share))
		}
		p.now = latest(p.now, at)
		p.m.Step(p.now, Event{Kind: TimePassed})
		if next, ok := p.m.Deadline(); ok && !next.After(p.now) {
			w.fatalf(&p, "a deadline is answered by itself: the loop would spin")
		}
	}
	if _, bounded := from.m.GraceEnd(); bounded || from.m.phase == Killing {
		w.fatalf(&p, "still %v after %d deadlines", p.m.phase, most)
	}
}

// allowed are the actions of each phase that is entered or stayed in, by their words.
var allowed = map[Phase]string{
	Starting: "",
	Running:  "inspect",
	Quiet:    "quiet, resume, inspect",
	Draining: "signal, orphans, last call, final call, quiet, " +
		"say drain, say exit, say stop, say same, say ignored, say signalled, say progress",
	Killing: "kill, kill grace, kill second_stop, kill force, kill forward_worker, say exit",
	Done:    "give up",
}

func (w *walk) checkStep(from, to *place, e Event, actions []Action) {
	before, after := from.m.phase, to.m.phase
	if after < before {
		w.fatalf(to, "%v went back to %v", before, after)
	}
	for i, a := range actions {
		if !slices.Contains(strings.Split(allowed[after], ", "), a.String()) ||
			slices.Contains(actions[:i], a) {
			w.fatalf(to, "action %v of %v, in %v", a, actions, after)
		}
	}
	delayed, snapshot := to.m.isSet(delayTimer), slices.ContainsFunc(actions, isSnapshot)
	call := from.m.due(lastCallTimer, to.now) || from.m.due(finalCallTimer, to.now)
	switch {
	case before == Done && (after != Done || len(actions) > 0 || to.m != from.m && e.Kind != StopSignaled):
		w.fatalf(to, "done is left, or does something: %v", actions)
	case has(actions, SignalWorker) && (from.signalled || to.exited):
		w.fatalf(to, "the worker is signalled: before %v, gone %v", from.signalled, to.exited)
	case has(actions, Inspect) && from.inspected:
		w.fatalf(to, "inspected twice")
	case has(actions, ResumeWorker) && (before != Quiet || e.Kind != TimePassed):
		w.fatalf(to, "resumed")
	case after == Draining && delayed && (has(actions, SignalWorker) || snapshot):
		w.fatalf(to, "%v in the stop delay", actions)
	case snapshot && e.Kind == TimePassed && !call && to.now.Before(from.m.pauseEnd(share)):
		w.fatalf(to, "a snapshot %v before its time", from.m.pauseEnd(share).Sub(to.now))
	case snapshot && !(to.exited || from.signalled || has(actions, SignalWorker)):
		w.fatalf(to, "%v before the worker was signalled or exited", actions)
	case w.EndsWithWorker && after == Draining && to.exited:
		w.fatalf(to, "it goes on without its worker")
	case w.SecondStopIgnored && slices.Contains(actions, Action{Kind: KillTree, Reason: ReasonSecondStop}):
		w.fatalf(to, "a force-stop by event %d", e.Kind)
	case after == Killing && before != Killing && !has(actions, KillTree):
		w.fatalf(to, "no kill as killing begins: %v", actions)
	}
}

func has(actions []Action, kind ActionKind) bool {
	return slices.ContainsFunc(actions, func(a Action) bool { return a.Kind == kind })
}

// isSnapshot reports whether an action takes a snapshot for orphans.
func isSnapshot(a Action) bool {
	return a.Kind == SignalOrphans || a.Kind == LastCall || a.Kind == FinalCall
}

// withoutSignals returns the actions as the walk compares them.
func withoutSignals(actions []Action) (all []Action) {
	for _, a := range actions {
		a.Signal = 0
		all = append(all, a)
	}
	return all
}
