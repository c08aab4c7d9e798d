package proc

import (
	"math"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Evidence is how often each thread of a process had been switched out at one moment, or
// how long the only one had run. A process that has received a signal since either runs, has
// it pending, or was switched out once more, and has run (kernel/sched/core.c, __schedule).
// Nil Evidence proves nothing.
type Evidence []threadSwitches

type threadSwitches struct {
	tid   int
	count uint64 // or a time, in nanoseconds
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
		if e = evidenceOfOne(pid); e == nil {
			e = Evidence{{pid, st.switches}}
		}
		return e, still
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

// evidenceOfOne reads that of a process with one thread: how long that has run is in a file
// that takes a third of the time of its status. Nil where the kernel does not count it.
func evidenceOfOne(pid int) Evidence {
	ran := runtimeOf(pid, pid)
	if ran == 0 {
		return nil
	}
	return Evidence{{pid, uint64(ran)}}
}

// takeEvidence reads the evidence of some processes, for as long as there is time.
func takeEvidence(w Want) *Snapshot {
	s := New(nil)
	s.evidence = make(map[int]Evidence)
	asked := signals.SetOf(w.Signals...)
	for _, p := range w.Evidence {
		if time.Now().After(w.Until) {
			break
		}
		var e Evidence
		if p.count == 1 { // if it has more by now, that is seen later
			e = evidenceOfOne(p.PID)
		}
		if e == nil {
			if st, err := readStatus(p.PID); err == nil {
				e, _ = evidenceOf(p.PID, st, asked)
			}
		}
		if e != nil {
			s.evidence[p.PID] = e
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
