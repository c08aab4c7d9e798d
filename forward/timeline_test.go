package forward

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	phases "drainit/internal/machine"
	"drainit/internal/proc"
)

// timeline is one stop of a family in time, below one init, from the stop signal at 0.
type timeline struct {
	family
	schedule
	under   peer
	now     time.Duration
	todo    []event // by their time
	at      []progress
	over    bool // what lives now is killed
	l       *played
	m       *phases.Machine
	watched map[int]bool // by pid
}

// schedule is how long what happens takes.
type schedule struct {
	work, pause time.Duration // of what finishes; of what acts in steps, between two of them
	lag         time.Duration // of drainit, until it acts upon anything
	idle        bool          // the processes sleep, so that drainit can prove much
}

func (s schedule) String() string {
	rhythm := map[bool]string{true: "idle", false: "busy"}[s.idle]
	return fmt.Sprintf("work of %v, pauses of %v, %s, drainit %v late", s.work, s.pause, rhythm, s.lag)
}

// peer is the init that a family is below.
type peer uint8

const (
	drainits   peer = iota
	tini            // tini -s: the worker alone is signalled, and what it leaves is killed when it exits
	tiniGroups      // tini -g: its process group is signalled, likewise
)

func (p peer) String() string { return [...]string{"drainit", "tini -s", "tini -g"}[p] }

// The times of every timeline. A process acts a moment after what it acts upon. A kill comes at the end of
// drainit's default grace period, whatever the init is.
const (
	moment   = time.Millisecond
	nextPoll = 450 * time.Millisecond
	killed   = 35 * time.Second
)

// event is something that will happen.
type event struct {
	at time.Duration
	do func()
}

// progress is how far a member is.
type progress struct {
	moves    []move
	pauses   bool // between two moves
	finished bool // its work
}

// move is one thing that a member does: it signals or asks some, waits until they have gone, or for a time.
type move struct {
	send, await []int
	ask         []int // which have no handler, by other means
	pause       time.Duration
	work        bool // the pause is its work
}

// play plays the stop to its end.
func (t *timeline) play() {
	t.at = make([]progress, len(t.family))
	t.after(killed, func() { t.over = true })
	switch t.under {
	case drainits:
		t.l, t.m = newPlayed(), phases.New(phases.Config{Grace: killed, Limit: 30 * time.Second})
		t.step(phases.Started)
		t.step(phases.StopSignaled)
	case tini:
		t.send(0, drainitSends)
	case tiniGroups:
		for i := range t.family {
			if t.family[i].group == 0 {
				t.send(i, drainitSends)
			}
		}
	}
	for !t.over {
		next := t.todo[0]
		if due, ok := t.deadline(); ok && due <= next.at {
			t.now = max(due, t.now)
			t.step(phases.TimePassed)
			continue
		}
		t.todo, t.now = t.todo[1:], next.at
		next.do()
	}
}

// deadline is when drainit acts next, if it does.
func (t *timeline) deadline() (time.Duration, bool) {
	if t.under != drainits {
		return 0, false
	}
	due, ok := t.m.Deadline()
	return due.Sub(time.Unix(0, 0)) + t.lag, ok
}

func (t *timeline) after(d time.Duration, do func()) {
	e := event{t.now + d, do}
	after := func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), -1) }
	n, _ := slices.BinarySearchFunc(t.todo, e, after)
	t.todo = slices.Insert(t.todo, n, e)
}

// step steps drainit's machine, and does what follows.
func (t *timeline) step(kind phases.EventKind) {
	for _, a := range t.m.Step(time.Unix(0, 0).Add(t.now), phases.Event{Kind: kind, Signal: unix.SIGTERM}) {
		switch a.Kind {
		case phases.SignalWorker:
			t.plan(Stop)
		case phases.SignalOrphans:
			t.plan(Orphans)
		case phases.LastCall:
			t.plan(LastCall)
		case phases.FinalCall:
			t.plan(FinalCall)
		case phases.KillTree:
			t.over = true
		}
	}
}

func (t *timeline) plan(purpose Purpose) {
	r := Request{Purpose: purpose, Signal: unix.SIGTERM, Tick: 1000 + uint64(t.now/proc.Tick)}
	all := t.l.deliveries(r, t.snapshot())
	for _, d := range all {
		t.l.Sent(d, r.Tick)
		m := &t.family[d.Process.PID-firstPID]
		m.rule, m.call = d.Rule, purpose
	}
	for _, d := range all {
		t.send(d.Process.PID-firstPID, drainitSends)
	}
	t.watched = make(map[int]bool)
	for _, id := range t.l.Watched() {
		t.watched[id.PID] = true
	}
	now := time.Unix(0, 0).Add(t.now)
	t.m.SnapshotTook(now, 0)
	t.m.Observed(now, len(all) > 0, time.Duration(t.l.plan.Again)*proc.Tick, true)
}

// snapshot is what drainit sees. A busy process has run since any other snapshot.
func (t *timeline) snapshot() *proc.Snapshot {
	var all []proc.Process
	for i := range t.family {
		if m := &t.family[i]; !m.dead {
			p := t.process(i, kind{idle: t.idle})
			if t.at[i].pauses && !m.is(stepsUnseen, steppingShell) {
				p.Call = pause
			}
			switches := uint64(m.wakes)
			if !t.idle {
				switches += uint64(t.now)
			}
			p.Asleep, p.Evidence = p.Pending == 0, []proc.Thread{{TID: p.PID, Switches: switches}}
			p.Switches = 1 + switches
			all = append(all, p)
		}
	}
	return proc.New(all)
}

// send has a member receive the signal.
func (t *timeline) send(to, from int) {
	m := &t.family[to]
	if m.dead {
		return
	}
	first := !m.signalled()
	m.receive()
	if from == drainitSends {
		m.drainit++
	} else {
		m.others = append(m.others, from)
	}
	switch {
	case !first || m.does == ignoring || m.does == blocking:
	case m.blocksAWhile():
		t.after(nextPoll, func() { m.told, m.pending = true, false; t.begin(to) })
	default:
		t.after(moment, func() { t.begin(to) })
	}
}

// begin has a member do what it does about the signal.
func (t *timeline) begin(i int) {
	if !t.family[i].dead {
		t.at[i].moves = t.movesOf(i)
		t.goOn(i)
	}
}

// goOn has a member make its moves, until it waits or has made the last.
func (t *timeline) goOn(i int) {
	t.family[i].wakes++
	p := &t.at[i]
	for len(p.moves) > 0 {
		switch next := p.moves[0]; {
		case slices.ContainsFunc(next.await, func(j int) bool { return !t.family[j].dead }):
			return // until one dies
		case next.pause > 0:
			p.moves[0].pause, p.pauses = 0, true
			t.after(next.pause, func() { p.pauses, p.finished = false, p.finished || next.work; t.goOn(i) })
			return
		default:
			p.moves = p.moves[1:]
			for _, j := range next.send {
				t.send(j, i)
			}
			for _, j := range next.ask {
				if t.family[j].does == stepsWhenAsked {
					t.after(moment, func() { t.begin(j) })
				}
			}
		}
	}
	t.die(i)
}

// die ends a member. Its parent, and what waits for it, act a moment later.
func (t *timeline) die(i int) {
	ofInit := t.family[i].parent == drainitSends
	t.family.die(i)
	for j := range t.family {
		if p := &t.at[j]; !t.family[j].dead && len(p.moves) > 0 && slices.Contains(p.moves[0].await, i) {
			t.after(moment, func() {
				if !t.family[j].dead && len(p.moves) > 0 && p.moves[0].pause == 0 {
					t.goOn(j)
				}
			})
		}
	}
	if up := t.endsWith(i); up >= 0 {
		t.after(moment, func() { t.die(up) })
	}
	left := slices.ContainsFunc(t.family, func(m member) bool { return !m.dead })
	switch {
	case !left, t.under != drainits && i == 0:
		t.over = true
	case t.under != drainits:
	case ofInit:
		t.l.Exited(firstPID+i, unix.WaitStatus(t.family[i].diedOf))
		t.step(map[bool]phases.EventKind{true: phases.WorkerExited, false: phases.ChildExited}[i == 0])
	case t.watched[firstPID+i]:
		died(t.l.History, firstPID+i)
		t.step(phases.ChildExited)
	}
}

// kept reports whether a member has done its work, of one signal.
func (t *timeline) kept(i int) bool {
	m := &t.family[i]
	return t.at != nil && t.at[i].finished && m.drainit+len(m.others) == 1
}

func (t *timeline) keepsAny() bool {
	for i := range t.family {
		if t.kept(i) {
			return true
		}
	}
	return false
}
