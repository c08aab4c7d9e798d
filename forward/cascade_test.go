package forward

import (
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// kindly is a process of one of these kinds, read closely.
func kindly(kind string, pid, ppid int) proc.Process {
	p := proc.Process{ID: proc.ID{PID: pid, Start: 100}, PPID: ppid, PGID: 10, SID: 10, State: 'S', Comm: kind, Exe: kind, Args: []string{kind}}
	switch kind {
	case "app", "bash", "mksh", "timeout", "su", "task":
		p.Handled = termSet
	case "dies", "dash": // a shell without a trap

	case "npm": // before its runtime has a handler
		p.Exe, p.Args = "node", []string{"node", "/usr/bin/npm", "start"}
	case "ignores":
		p.Ignored = termSet
	case "init":
		p.NestedInit = true
	case "blocks":
		p.Blocked, p.Pending = termSet, termSet
	case "unknown": // what it sleeps in can't be read
	}
	return p
}

// kin is one of a table.
type kin struct {
	kind      string
	pid, ppid int
}

// kinfolk are the processes of a table.
func kinfolk(all ...kin) (shown []proc.Process) {
	for _, k := range all {
		shown = append(shown, kindly(k.kind, k.pid, k.ppid))
	}
	return shown
}

// A relay has ended it, and it was not scheduled since.
func TestWhatDiesAlreadyIsNotSignalled(t *testing.T) {
	shell := kindly("dash", 11, 1)
	shell.Pending = signals.SetOf(unix.SIGKILL)
	l := stopping(t, kinfolk(kin{"app", 10, 1}, kin{"dash", 11, 10}, kin{"app", 12, 11})...)
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	wantSent(t, "while it dies", orphans(l, shell, kindly("app", 12, 11)))
	wantSent(t, "by the last call", call(l, shell, kindly("app", 12, 11)), 12)
}

// The worker itself is signalled at once, whatever it reads. Of what a worker that has
// daemonized left, one that reads a pipe of another waits for that.
func TestWhatReadsAPipeWaitsUnlessItIsTheWorker(t *testing.T) {
	shown := with(kinfolk(kin{"app", 10, 1}, kin{"app", 11, 1}), details{Writers: map[int][]int{10: {11}}})
	plan := func(r Request) []int {
		l := NewLedger(drainitPID)
		return sentAll(l, l.Plan(r, shown))
	}
	r := term(Stop)
	wantSent(t, "the worker reads", plan(r), 10)
	r.Worker = Worker{PID: 9, Gone: true, Daemonizes: true}
	wantSent(t, "the worker has gone", plan(r), 11)
}

// A reader ends by itself when its input has: it is signalled after its writer only if it is untouched,
// and by the last call.
func TestAReaderEndsByItself(t *testing.T) {
	shown := kinfolk(kin{"dash", 10, 1}, kin{"app", 11, 10}, kin{"app", 12, 10})
	l := stopping(t, shown...)
	pipe := details{Writers: map[int][]int{12: {11}}}
	wantSent(t, "while both live", later(l, 10, shown, pipe))
	l.Exited(10, unix.WaitStatus(unix.SIGTERM))
	shown = kinfolk(kin{"app", 11, 1}, kin{"app", 12, 1})
	wantSent(t, "the writer", later(l, 20, shown, pipe), 11)
	l.Exited(11, 0)
	wantSent(t, "the busy reader", later(l, 30, shown[1:], details{}))
	wantSent(t, "by the last call", call(l, shown[1:]...), 12)
}
