package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
)

func TestEachIsQuietedOnceUntilItIsResumed(t *testing.T) {
	l := newPlayed()
	quiet := Request{Purpose: Quiet, Signal: unix.SIGTSTP}
	want := func(when, want string) {
		t.Helper()
		all := l.deliveries(quiet, machine(false))
		if got := describe(all); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
		for _, d := range all {
			l.Sent(d, 0)
		}
	}
	want("the first time", "11 TSTP if handled")
	want("the second time", "")
	clear(l.quieted)
	want("when it was resumed", "11 TSTP if handled")
}

// A successor may be in the group that the first worker was given, or lead one, or have
// been moved elsewhere.
func TestWhichGroupIsTheWorkers(t *testing.T) {
	for group, want := range map[int]string{
		7:  "group 7 of 10 11 TERM child stop",
		10: "group 10 of 10 11 TERM child stop",
		9:  "group 10 TERM child stop",
	} {
		shown := []proc.Process{shownAs("app", 10, drainitPID, group, 0), shownAs("io", 11, 10, group, 0)}
		r, l := Request{Purpose: Stop, Signal: unix.SIGTERM, Mode: ModeGroup}, newPlayed()
		l.pgid = 7
		if got := describe(l.deliveries(r, proc.New(shown))); got != want {
			t.Errorf("group %d: %q, want %q", group, got, want)
		}
	}
}

// Without /proc the kernel is asked to signal all, which must not be done twice.
func TestTheNamespaceIsSignalledOnce(t *testing.T) {
	l := newPlayed()
	l.Exited(10, 0)
	r := Request{Purpose: Orphans, Signal: unix.SIGTERM}
	for i, want := range []string{"namespace TERM", "", ""} {
		if got := describe(l.deliveries(r, nil)); got != want {
			t.Errorf("snapshot %d: %q, want %q", i, got, want)
		}
		r.Purpose = LastCall
	}
}

// A stop began when /proc could not be read: the worker was signalled then, unless it is
// one that only lives on in a drain which none asked for.
func TestAStopThatIsSeenLate(t *testing.T) {
	for requested, want := range map[bool]unix.Signal{true: unix.SIGTERM, false: 0} {
		l := newPlayed()
		r := term(Orphans)
		if requested {
			l.Sent(Delivery{Process: proc.Process{ID: proc.ID{PID: 10}}, Signal: unix.SIGTERM, Stop: true},
				1000)
		}
		if got := describe(l.deliveries(r, machine(false))); got != "" {
			t.Errorf("requested %v: %q at the first snapshot, want none", requested, got)
		}
		if got := l.WasSent(proc.ID{PID: 10, Start: 100}); got != want {
			t.Errorf("requested %v: the worker was sent %v, want %v", requested, got, want)
		}
		l.Exited(10, 0)
		// tool would only die, and waits for web; redis and log were there before the stop, and wait for both
		if got, want := describe(l.deliveries(r, machine(true))), ""; requested && got != want {
			t.Errorf("when the worker has gone: %q, want %q", got, want)
		}
	}
}

// details are what a made-up snapshot shows beside its processes.
type details struct {
	Writers   map[int][]int // of the readers of pipes: the pids of those that write to them
	Waits     map[int]program.Waiting
	Untouched map[proc.ID]bool
	Asleep    map[int]bool
}

// with makes a snapshot with such details.
func with(all []proc.Process, d details) *proc.Snapshot {
	for i := range all {
		p := &all[i]
		p.Untouched, p.Asleep = d.Untouched[p.ID], d.Asleep[p.PID]
		if d.Writers[p.PID] != nil {
			p.Reads = proc.File{Inode: uint64(p.PID)}
		}
		if d.Waits[p.PID] != program.NotWaiting {
			p.Call = proc.Call{Sleeps: true, Number: unix.SYS_WAIT4}
		}
		if d.Waits[p.PID] == program.Waits {
			p.Exe = "dash" // the shell of which that is known
		}
	}
	s := proc.New(all)
	for pid, writers := range d.Writers {
		for _, writer := range writers {
			s.AddWriter(proc.File{Inode: uint64(pid)}, writer)
		}
	}
	return s
}

// WasSent returns the stop signal that a process was sent, 0 for none.
func (l *played) WasSent(id proc.ID) unix.Signal {
	if m := l.records[id]; m != nil && m.sent != nil {
		return m.sent.signal
	}
	return 0
}

// kindly is a process of one of these kinds, read closely.
func kindly(kind string, pid, ppid int) proc.Process {
	p := proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, SID: 10, State: 'S',
		Comm: kind, Details: proc.Details{Exe: kind, Args: []string{kind}}}
	switch kind {
	case "app", "bash", "mksh", "composer":
		p.Handled = termSet
	case "dies", "dash": // a shell without a trap

	case "npm with its handler":
		p.Exe, p.Args, p.Handled = "node", []string{"node", "/usr/bin/npm", "start"}, termSet
	case "ignores":
		p.Ignored = termSet
	case "init":
		p.NestedInit = true
	case "blocks":
		p.Blocked, p.Pending, p.Call = termSet, termSet, proc.Call{Sleeps: true, Number: unix.SYS_WAIT4}
	}
	looksKnown(&p)
	return p
}
