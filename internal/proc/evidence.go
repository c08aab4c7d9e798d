package proc

import (
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Evidence is how often each thread of a process had been switched out at one moment, by its
// own doing or not. A process that has received a signal since either runs, has it pending, or
// was switched out once more (kernel/sched/core.c, __schedule). How long it has run is none: a
// short run counts as nothing where the processor was taken from the machine meanwhile.
// Nil Evidence proves nothing.
type Evidence []threadSwitches

type threadSwitches struct {
	tid   int
	count uint64
}

// mostThreads are read of one process whose main thread blocks some signal. One that blocks
// none counts alone: the kernel prefers it (kernel/signal.c, complete_signal), so it is woken
// up for the signal, or it runs, or it is about to run for another. Of more threads it counts
// alone, too, if it does not block the signal that is asked for.
const mostThreads = 64

// evidenceOf reads the evidence of a process whose status was just read. still is whether
// the threads that count sleep and no signal is pending.
func evidenceOf(pid int, st status, asked signals.Set) (e Evidence, still bool) {
	still = st.rests()
	switch {
	case st.threads == 1:
		return Evidence{{pid, st.switches}}, still
	case st.blocked == 0, st.threads > mostThreads && st.blocked&asked == 0:
		return Evidence{{math.MaxInt, uint64(st.threads)}, {pid, st.switches}}, still
	case st.threads > mostThreads:
		return nil, false
	}
	return evidenceOfAll(pid, still)
}

// evidenceOfAll reads that of all threads.
func evidenceOfAll(pid int, still bool) (e Evidence, all bool) {
	tids, err := readPids(procPath(pid, "task"))
	if err != nil {
		return nil, false
	}
	for _, tid := range tids {
		thread, err := readThread(pid, tid)
		if err != nil {
			return nil, false // it has ended: that takes a signal, or work
		}
		still = still && thread.rests()
		e = append(e, threadSwitches{tid, thread.switches})
	}
	return e, still
}

// takeEvidence reads the evidence of some processes, for as long as there is time, and where
// the stacks of the shells are.
func (g *reading) takeEvidence(w Want) *Snapshot {
	s := New(nil)
	g.readStacks(s, w.Shells)
	s.evidence = make(map[int]Evidence)
	asked := signals.SetOf(w.Signals...)
	for _, p := range w.Evidence {
		if time.Now().After(w.Until) {
			break
		}
		if st, err := readStatus(p.PID); err == nil {
			if e, _ := evidenceOf(p.PID, st, asked); e != nil {
				s.evidence[p.PID] = e
			}
		}
	}
	return s
}

// proveUntouched returns those of the processes that have received no signal since their
// evidence was read. Each is read twice, a millisecond apart: for a moment a thread that
// goes back to sleep is in state S and not yet counted.
func proveUntouched(all map[ID]Evidence, asked []unix.Signal) map[ID]bool {
	if len(all) == 0 {
		return nil
	}
	untouched := make(map[ID]bool)
	for id, e := range all {
		if e.stillOf(id.PID, asked) {
			untouched[id] = true
		}
	}
	if len(untouched) == 0 {
		return nil
	}
	time.Sleep(time.Millisecond)
	for id := range untouched {
		if !all[id].stillOf(id.PID, asked) {
			delete(untouched, id)
		}
	}
	return untouched
}

// whichSleep returns those of which all threads sleep, with no signal pending: all that
// such a one has sent to others has come to them.
func whichSleep(pids []int) map[int]bool {
	asleep := make(map[int]bool)
	for _, pid := range pids {
		if st, err := readStatus(pid); err == nil {
			asleep[pid] = allSleep(pid, st)
		}
	}
	return asleep
}

// allSleep reports whether all threads of a process sleep and no signal is pending; of more
// than can be read, whether the main one does.
func allSleep(pid int, st status) bool {
	still := st.rests()
	if still && st.threads > 1 && st.threads <= mostThreads {
		_, still = evidenceOfAll(pid, still)
	}
	return still
}

// stillOf reports whether the process with this pid sleeps as it did then.
func (e Evidence) stillOf(pid int, asked []unix.Signal) bool {
	st, err := readStatus(pid)
	if err != nil || !st.rests() || len(e) == 0 {
		return false
	}
	now, still := evidenceOf(pid, st, signals.SetOf(asked...))
	return still && slices.Equal(e, now)
}
