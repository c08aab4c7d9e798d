package forward

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/sigqueue"
)

// real is a stop of real children of the test, which stands for drainit: pipes and what
// a shell waits for are known of such alone.
type real struct {
	t    *testing.T
	l    *Ledger
	r    Request
	proc proc.Reader
}

// child starts a program of a process group of its own, and kills it at the end.
func child(t *testing.T, in, out *os.File, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the program " + args[0])
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		if os.Getenv("DRAINIT_TEST_ALL") == "1" {
			t.Fatal("needs the program " + args[0])
		}
		t.Skip("needs the program " + args[0])
	}
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGQUIT} { // of tests in the background of a shell
		if before, err := sigqueue.SetAction(sig, sigqueue.Default); err == nil && before != sigqueue.Ignore {
			_, _ = sigqueue.SetAction(sig, before)
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	if in != nil {
		cmd.Stdin = in
	}
	if out != nil {
		cmd.Stdout = out
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endFamily(cmd) })
	return cmd
}

// pipe is a pipe that the test holds open until its end.
func pipe(t *testing.T) (in, out *os.File) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	return in, out
}

// endFamily kills a child and all below it, of whatever process group: while the child is
// stopped, nothing waits for those.
func endFamily(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(syscall.SIGSTOP)
		if all, err := new(proc.Reader).All(); err == nil {
			for _, p := range all.Descendants(cmd.Process.Pid) {
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// stopReal begins the stop of a worker, which is sent nothing: it is as if it took its time.
func stopReal(t *testing.T, worker *exec.Cmd) *real {
	t.Helper()
	r := &real{t: t, l: NewLedger(os.Getpid()), r: term(Stop)}
	r.r.Worker.PID = worker.Process.Pid
	s := r.take()
	all := r.l.Plan(r.r, s)
	if len(all) != 1 || all[0].Process.PID != r.r.Worker.PID {
		t.Fatalf("signalled %+v, want the worker", all)
	}
	r.l.Sent(all[0], 1000)
	return r
}

// plan takes the snapshot that a plan wants, and notes its deliveries.
func (r *real) plan(purpose Purpose, tick uint64) []Delivery {
	r.t.Helper()
	r.r.Purpose, r.r.Tick = purpose, tick
	all := r.l.Plan(r.r, r.take())
	for _, d := range all {
		r.l.Sent(d, tick)
	}
	return all
}

func (r *real) take() *proc.Snapshot {
	r.t.Helper()
	all, err := r.proc.Tree(os.Getpid(), r.l.Start(), time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// end kills a child of the test.
func (r *real) end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	r.l.Exited(cmd.Process.Pid, unix.WaitStatus(unix.SIGKILL))
	r.r.Worker.Gone = r.r.Worker.Gone || cmd.Process.Pid == r.r.Worker.PID
}

// To end tee cuts off the application that writes to it.
func TestWhatReadsAPipeIsLeftToItsWriter(t *testing.T) {
	for name, last := range map[string]bool{"until that has gone": false, "in the last call too": true} {
		t.Run(name, func(t *testing.T) {
			in, out := pipe(t)
			worker := child(t, nil, nil, "sleep", "1000")
			app, tee := child(t, nil, out, "sleep", "1000"), child(t, in, nil, "sleep", "1000")
			r := stopReal(t, worker)
			if all := r.plan(Orphans, 1000); len(all) != 0 {
				t.Errorf("while the worker lives: %+v", all)
			}
			r.end(worker)
			if all := r.plan(Orphans, 1010); len(all) != 1 || all[0].Process.PID != app.Process.Pid {
				t.Errorf("when it has gone: %+v, want the application alone", all)
			}
			if all := r.plan(Orphans, 1020); len(all) != 0 {
				t.Errorf("while the application lives: %+v", all)
			}
			if last {
				if all := r.plan(LastCall, 1030); len(all) != 0 {
					t.Errorf("in the last call: %+v, while the application lives", all)
				}
			}
			r.end(app)
			if all := r.plan(Orphans, 1040); len(all) != 1 || all[0].Process.PID != tee.Process.Pid {
				t.Errorf("at the end: %+v, want what reads the pipe", all)
			}
		})
	}
}

// A shell that reads a pipe may end with a status of its own, whatever the application did.
func TestWhatReadsAPipeIsNoSuccessor(t *testing.T) {
	for name, writer := range map[string]bool{"while a writer lives": true, "without a writer": false} {
		in, out := pipe(t) // the test holds it open, and is not below drainit
		reader := child(t, in, nil, "bash", "-c", "read x; :")
		if writer {
			child(t, nil, out, "sleep", "1000")
		}
		p, err := proc.Read(reader.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		// It was below a shell, which has died of the signal.
		shell := proc.Process{ID: proc.ID{PID: 1 << 22, Start: 100}, PPID: os.Getpid(), State: 'S', Comm: "sh", Exe: "sh"}
		p.PPID = shell.PID
		r := &real{t: t, l: NewLedger(os.Getpid()), r: term(Stop)}
		r.r.Worker.PID = shell.PID
		for _, d := range r.l.Plan(r.r, proc.New([]proc.Process{shell, p})) {
			r.l.Sent(d, 1000)
		}
		r.l.Exited(shell.PID, unix.WaitStatus(unix.SIGTERM))
		r.r.Worker.Gone = true
		r.plan(Orphans, 1010)
		if successor, ok := r.l.Successor(); ok == writer || ok && successor.PID != p.PID {
			t.Errorf("%s: the successor is %v, %v; want it: %v", name, successor, ok, !writer)
		}
	}
}

// blockedTraps are those of the snapshot by which a plan is made.
func (r *real) blockedTraps(tick uint64) []Deaf {
	r.t.Helper()
	r.r.Purpose, r.r.Tick = Orphans, tick
	s := r.take()
	for _, d := range r.l.Plan(r.r, s) {
		r.l.Sent(d, tick)
	}
	return r.l.BlockedTraps()
}

// A shell that waits for a child in the foreground can't run its trap.
func TestBlockedTraps(t *testing.T) {
	tests := map[string]struct {
		script   string
		children int
		blocked  bool
	}{
		"a trap behind a child in the foreground":          {`trap : TERM; sleep 1000; :`, 1, true},
		"one beside it in the background":                  {`trap : TERM; sleep 1000 & sleep 1000; :`, 2, true},
		"timeout, which leads a group of its own":          {`trap : TERM; timeout 1000 sleep 1000; :`, 1, true},
		"timeout in the background, which undoes its mark": {`trap : TERM; timeout 1000 sleep 1000 & wait; :`, 1, true},
		"a child in the background":                        {`trap : TERM; sleep 1000 & wait; :`, 1, false},
		"a child with a process group, of set -m":          {`set -m; trap : TERM; sleep 1000; :`, 1, true},
		"a child that ignores INT and QUIT, as it does":    {`trap : TERM; trap '' INT QUIT; sleep 1000; :`, 1, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			shell := child(t, nil, nil, "bash", "-c", tt.script)
			waitForSleeps(t, shell.Process.Pid, tt.children)
			r := stopReal(t, shell)
			all := r.blockedTraps(1099)
			if len(all) == 0 || !all[0].Children[0].Handles(unix.SIGTERM) { // it may end by itself within a second
				if len(all) > 0 {
					t.Errorf("before a second has gone by: %v, which may end by itself", all)
				}
				all = r.blockedTraps(1100)
			}
			if len(all) > 1 || len(all) == 1 != tt.blocked {
				t.Fatalf("%v, want any: %v", all, tt.blocked)
			}
			if tt.blocked && (all[0].Process.PID != shell.Process.Pid || len(all[0].Children) != 1 || all[0].Children[0].PPID != shell.Process.Pid) {
				t.Errorf("%v, want the child in the foreground", all)
			}
		})
	}
}

// What a trap starts shows that it runs.
func TestTrapThatRunsIsNotBlocked(t *testing.T) {
	in, _ := pipe(t)
	shell := child(t, in, nil, "bash", "-c", `trap 'sleep 1000; :' TERM; sleep 1000 & wait; :`)
	waitForSleeps(t, shell.Process.Pid, 1)
	r := stopReal(t, shell)
	if err := shell.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitForSleeps(t, shell.Process.Pid, 2)
	r.plan(Orphans, 1100)
	if all := r.l.BlockedTraps(); len(all) != 0 {
		t.Errorf("%v, though its trap runs", all)
	}
}

// waitForSleeps waits until a shell sleeps, with so many children that run sleep(1), or
// timeout(1).
func waitForSleeps(t *testing.T, shell, children int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		all, err := new(proc.Reader).All()
		if err != nil {
			t.Fatal(err)
		}
		p, _ := all.Process(shell)
		states := string(p.State)
		for _, c := range all.Children(shell) {
			states += " " + strings.Replace(c.Comm, "timeout", "sleep", 1) + string(c.State)
		}
		if states == "S"+strings.Repeat(" sleepS", children) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the shell and its children are %q", states)
		}
	}
}
