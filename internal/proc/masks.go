package proc

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// question is whether a process that blocks a signal, or may do so, waits for it.
type question struct {
	process  *Process
	signal   unix.Signal
	asleep   bool // at the read before
	switches uint64
	awake    int           // the thread that may have come out of sigwait, 0 for none
	thread   int           // that one, or the main one
	ran      time.Duration // how long it had run, 0 if that is not known
	threads  int
}

// Those that have got hardly any time of a processor since they were asked first are asked
// for longer than until Want.Until.
const (
	turnTime = time.Second
	hardly   = 5 * time.Millisecond
)

// askTime bounds the processor time of all questions: each may take a look at a thousand
// descriptors, and the stop waits meanwhile.
const askTime = 30 * time.Millisecond

// readMasks reads the signals of processes: those that they have handlers for, and of the
// signals asked for also those that they wait for without one. One that has vanished is
// dead. The error is that of a want of means.
func (g *reading) readMasks(these []*Process, w Want) error {
	var open []question
	for _, p := range these {
		if !p.Alive() {
			continue
		}
		g.reads(p.PID, closely)
		st, err := p.readStatus()
		if err != nil {
			return err
		}
		if !p.Alive() {
			continue
		}
		p.Handled, p.Ignored, p.Pending, p.NestedInit = st.handled, st.ignored, st.pending, st.nested
		for _, sig := range w.Signals {
			if st.handled.Has(sig) || st.ignored.Has(sig) || p.hangs {
				continue
			}
			b := g.blocks(p.PID, st, sig)
			if b.fatal {
				p.Fatal |= signals.SetOf(sig)
			}
			if b.byAll || b.awake != 0 {
				p.Blocked |= signals.SetOf(sig)
				thread := cmp.Or(b.awake, p.PID)
				open = append(open, question{p, sig, st.asleep, st.switches, b.awake, thread, runtimeOf(p.PID, thread), st.threads})
			}
		}
	}
	return g.settle(open, w.Until)
}

// settle answers the questions that one read can't. fork(3), posix_spawn(3) and dash's
// vfork block every signal for as long as they take, which is long on a busy machine, and
// the new process has the signalfd of the old one. So all are read again a millisecond
// later, and then, as long as there is time, those that may be in the middle of it.
// One that has hardly had a processor since has a second more.
func (g *reading) settle(open []question, until time.Time) error {
	spent := ThreadTime(unix.Gettid())
	for len(open) > 0 {
		time.Sleep(time.Millisecond)
		next, err := g.askAgain(open, until, spent)
		if err != nil {
			return err
		}
		open = next
	}
	return nil
}

// askAgain reads them once more, and returns those that are to be read again after that. spent
// is how long the thread had run before the first.
func (g *reading) askAgain(open []question, until time.Time, spent time.Duration) (next []question, err error) {
	const atLeast = 16 // the nearest first, however late it is on a busy machine
	thread := unix.Gettid()
	for i, q := range open {
		g.reads(q.process.PID, closely)
		now := time.Now()
		late := now.After(until)
		if late && (i >= atLeast || ThreadTime(thread)-spent > askTime) {
			q.giveUp()
			continue
		}
		ran := runtimeOf(q.process.PID, q.thread) // first: what follows is of after that
		again := !late || now.Before(until.Add(turnTime)) && q.waitsForTurn(ran)
		st, err := q.process.readStatus()
		if err != nil {
			return nil, err
		}
		if !q.process.Alive() {
			continue
		}
		waits, settled := g.answer(q, st, ran)
		switch {
		case waits:
			q.process.Handled |= signals.SetOf(q.signal)
		case settled:
		case again:
			q.asleep, q.switches, q.threads = st.asleep, st.switches, st.threads
			next = append(next, q)
		default:
			q.giveUp()
		}
	}
	return next, nil
}

// waitsForTurn reports whether the thread is about to run, and has hardly done so since the
// first read: so long by now.
func (q *question) waitsForTurn(ran time.Duration) bool {
	if q.ran == 0 || ran >= q.ran+hardly {
		return false
	}
	thread, err := readThread(q.process.PID, q.thread)
	return err == nil && thread.runs
}

// giveUp answers a question for which there is no more time. Of several threads a fork
// blocks signals in one: where all do, and run, one takes the signal between two pieces of
// work. It must be surer if it would be stopped.
func (q *question) giveUp() {
	if q.threads > 1 && q.awake == 0 && !signals.StopsByDefault(q.signal) {
		q.process.Handled |= signals.SetOf(q.signal)
	}
}

// readStatus reads the status of a process. One that has vanished is dead from then on.
// The error is that of a want of means.
func (p *Process) readStatus() (status, error) {
	st, err := readStatus(p.PID)
	if isResourceExhausted(err) {
		return st, err
	}
	if err != nil {
		p.State = 'X'
	}
	return st, nil
}

// runtimeOf is how long a thread has run, as its schedstat has it; 0 where that is not
// known. What has run since it woke up has its SigBlk again.
func runtimeOf(pid, tid int) time.Duration {
	b, err := readSmall(procPath(pid, threadFile(pid, tid, "schedstat")))
	if err != nil {
		return 0
	}
	ran, _, _ := strings.Cut(string(b), " ")
	ns, _ := strconv.ParseInt(ran, 10, 64) // 0 where the kernel does not count it
	return time.Duration(ns)
}

// answer reports whether a process waits for a signal, and whether that is all there is to
// know. What sleeps as it did a millisecond ago is not in the middle of anything: it waits
// for a child with its signals blocked, as unshare(1) and strace(1) do, or it can't be known.
// ran is how long the question's thread had run before that.
func (g *reading) answer(q question, st status, ran time.Duration) (waits, settled bool) {
	if st.handled.Has(q.signal) {
		return true, true
	}
	b := g.blocks(q.process.PID, st, q.signal)
	if b.awake != 0 && (b.awake != q.awake || ran == 0 || ran == q.ran) {
		return false, false
	}
	if st.ignored.Has(q.signal) || !b.byAll {
		q.process.Blocked &^= signals.SetOf(q.signal)
		return false, true
	}
	if b.sigwait {
		return true, true
	}
	has, readable := hasSignalfd(q.process.PID, q.signal)
	settled = st.asleep && q.asleep && st.switches == q.switches
	return has || settled && !readable, settled
}
