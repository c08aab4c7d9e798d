package proc

import (
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
	awake    int    // the thread that may have come out of sigwait, 0 for none
	ran      string // how long that had run
	threads  int
}

// readMasks reads the signals of processes: those that they have handlers for, and of the
// signals asked for also those that they wait for without one. One that has vanished is
// dead. The error is that of a want of means.
func (r *Reader) readMasks(these []*Process, w Want) error {
	var open []question
	for _, p := range these {
		if !p.Alive() {
			continue
		}
		st, err := p.readStatus()
		if err != nil {
			return err
		}
		if !p.Alive() {
			continue
		}
		p.Handled, p.Ignored, p.Pending, p.NestedInit = st.handled, st.ignored, st.pending, st.nested
		for _, sig := range w.Signals {
			if st.handled.Has(sig) || st.ignored.Has(sig) {
				continue
			}
			b := r.blocks(p.PID, st, sig)
			if b.fatal {
				p.Fatal |= signals.SetOf(sig)
			}
			if b.byAll || b.awake != 0 {
				p.Blocked |= signals.SetOf(sig)
				open = append(open, question{p, sig, st.asleep, st.switches, b.awake, runtimeOf(p.PID, b.awake), st.threads})
			}
		}
	}
	return r.settle(open, w.Until)
}

// settle answers the questions that one read can't. fork(3), posix_spawn(3) and dash's
// vfork block every signal for as long as they take, which is long on a busy machine, and
// the new process has the signalfd of the old one. So all are read again a millisecond
// later, and then, as long as there is time, those that may be in the middle of it.
func (r *Reader) settle(open []question, until time.Time) error {
	const atLeast = 16 // questions, the nearest first, however late it is
	for len(open) > 0 {
		time.Sleep(time.Millisecond)
		var next []question
		for i, q := range open {
			if i >= atLeast && time.Now().After(until) {
				next = append(next, open[i:]...)
				break
			}
			st, err := q.process.readStatus()
			if err != nil {
				return err
			}
			if !q.process.Alive() {
				continue
			}
			waits, settled := r.answer(q, st)
			if waits {
				q.process.Handled |= signals.SetOf(q.signal)
			} else if !settled {
				q.asleep, q.switches, q.threads = st.asleep, st.switches, st.threads
				next = append(next, q)
			}
		}
		open = next
		if time.Now().After(until) {
			break
		}
	}
	for _, q := range open {
		// Of several threads a fork blocks signals in one: where all do, and run, one takes
		// the signal between two pieces of work. It must be surer if it would be stopped.
		if q.threads > 1 && q.awake == 0 && !signals.StopsByDefault(q.signal) {
			q.process.Handled |= signals.SetOf(q.signal)
		}
	}
	return nil
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

// runtimeOf is how long a thread has run, as its schedstat has it; "" where that is not
// known, or there is no thread to ask (0). What has run since it woke up has its SigBlk again.
func runtimeOf(pid, tid int) string {
	if tid == 0 {
		return ""
	}
	b, err := readSmall(procPath(pid, threadPath(tid, "schedstat")))
	ran, _, _ := strings.Cut(string(b), " ")
	if err != nil || ran == "0" {
		return ""
	}
	return ran
}

// answer reports whether a process waits for a signal, and whether that is all there is to
// know. What sleeps as it did a millisecond ago is not in the middle of anything: it waits
// for a child with its signals blocked, as unshare(1) and strace(1) do, or it can't be known.
func (r *Reader) answer(q question, st status) (waits, settled bool) {
	if st.handled.Has(q.signal) {
		return true, true
	}
	b := r.blocks(q.process.PID, st, q.signal)
	if ran := runtimeOf(q.process.PID, b.awake); b.awake != 0 && (b.awake != q.awake || ran == "" || ran == q.ran) {
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
