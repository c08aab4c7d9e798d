package proc

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// Thread is how often a thread had been switched out at one moment. One that has received a signal
// since either runs, has it pending, or was switched out once more (kernel/sched/core.c,
// __schedule). How long it has run is no evidence: a short run may count as nothing.
type Thread struct {
	TID      int
	Switches uint64
}

// SleptSince reports whether a process has not run since an earlier snapshot of it.
func (p *Process) SleptSince(before *Process) bool {
	return p.ID == before.ID && p.Evidence != nil && slices.Equal(p.Evidence, before.Evidence)
}

// HasRunSince reports whether a process may have run since an earlier snapshot of it, in any thread. Where
// the context switches were not read, it may: they are read only of a process that has one thread, or has had
// children.
func (p *Process) HasRunSince(before *Process) bool {
	return p.ID != before.ID || p.Switches == 0 || p.Switches != before.Switches
}

// readThreads finds what the threads of a process show together. st is the status of its main thread. A main
// thread that blocks no signal gets each that comes: the kernel prefers it (kernel/signal.c,
// complete_signal). So it alone is read, unless all says that each thread is to be asked whether it sleeps.
func (p *Process) readThreads(st status, all bool) {
	const mostThreads = 64 // that are asked whether they sleep, beside a main one that blocks no signal
	if st.state == 'Z' {   // it takes no signal
		st.state, st.blocked = 'S', ^signals.Set(0)
	}
	call, awaited := callOf(st)
	p.Call, p.Blocked, p.Awaited, p.Asleep = call, st.blocked|awaited, awaited, st.rests()
	evidence, certain := []Thread{{p.PID, st.switches}}, p.Asleep
	sum, whole, sleeps := st.switches, st.threads == 1, st.sleeps()
	if st.threads > 1 && (st.blocked != 0 || all && st.threads <= mostThreads) {
		var others []status
		others, whole = otherThreads(p.PID) // a thread that has ended has had a signal, or work
		p.Asleep = p.Asleep && whole
		for _, t := range others {
			p.Asleep, sleeps, sum = p.Asleep && t.rests(), sleeps && t.sleeps(), sum+t.switches
		}
		if st.blocked == 0 {
			others = nil // none of them gets a signal
		} else {
			certain = p.Asleep
		}
		for _, t := range others {
			_, awaited := callOf(t)
			p.Blocked &= t.blocked | awaited
			p.Awaited |= awaited
			evidence = append(evidence, Thread{t.tid, t.switches})
		}
	}
	p.Awaited &= p.Blocked
	p.Evidence, p.Switches = nil, 0
	if certain {
		p.Evidence = evidence
	}
	if sleeps && whole {
		p.Switches = sum
	}
}

// callOf returns the call in which a thread sleeps, and the signals for which it waits there. The kernel
// takes those of rt_sigtimedwait(2) out of SigBlk meanwhile (kernel/signal.c, do_sigtimedwait), but the
// memory of the thread tells them. If that may not be read (ptrace(2)), the thread may wait for all signals
// but those that would stop it. A thread that does not sleep is not asked. If it is stuck in an execve(2),
// the answer would not come (fs/proc/base.c, lock_trace).
func callOf(t status) (call Call, awaited signals.Set) {
	const time64 = 421 // rt_sigtimedwait_time64, which 32-bit architectures have too
	if t.state != 'S' {
		return call, 0
	}
	b, _ := asOwner(t.tid, func() ([]byte, error) { return readSmall(procPath(t.tid, "syscall")) })
	fields := strings.Fields(string(b))
	if slices.Equal(fields, []string{"running"}) {
		return call, 0
	}
	call = Call{Sleeps: true, Number: -1}
	if len(fields) < 3 { // not permitted, or not in this kernel
		return call, 0
	}
	if number, err := strconv.Atoi(fields[0]); err == nil {
		call.Number = number
	}
	call.Stack, _ = strconv.ParseUint(fields[len(fields)-2], 0, 64) // the last is where the program is
	first, _ := strconv.ParseInt(fields[1], 0, 64)
	if call.Number == unix.SYS_READ {
		call.Descriptor = int(first)
	}
	if call.Number != unix.SYS_RT_SIGTIMEDWAIT && call.Number != time64 {
		return call, 0
	}
	set, err := readPart(t.tid, "mem", first, 8)
	if err != nil || len(set) < 8 {
		return call, mayHandle
	}
	return call, signals.Set(binary.NativeEndian.Uint64(set))
}

// signalfds returns the signals that a process reads from signalfds. If these may not be read, any signal may
// be among them, and it returns all but those that stop a process by default.
func signalfds(pid int) signals.Set {
	const atMost = 1000                                          // descriptors: one of these is opened early
	all, err := asOwner(pid, func() (all signals.Set, _ error) { // all with one change of user
		fds, err := readPids(procPath(pid, "fdinfo"))
		for _, fd := range fds[:min(len(fds), atMost)] {
			b, err := readSmall(procPath(pid, "fdinfo/"+strconv.Itoa(fd)))
			if isNotPermitted(err) {
				return 0, err
			}
			value, _ := valueOf(b, "sigmask") // none unless it is a signalfd (proc(5))
			mask, _ := strconv.ParseUint(string(value), 16, 64)
			all |= signals.Set(mask)
		}
		return all, err
	})
	if err != nil {
		return mayHandle
	}
	return all
}
