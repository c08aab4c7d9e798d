package supervisor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/spawn"
	"drainit/internal/term"
	"drainit/reaper"
	"drainit/test/harness/rows"
)

// beforeStart makes a bubble that subscribes to the signals of this very process, in real time: what drainit
// does before it starts a worker is a matter of the kernel's.
func beforeStart(t *testing.T, cfg Config) *bubble {
	t.Helper()
	b := open(t, cfg, "node")
	b.s.queue = sigqueue.Open()
	t.Cleanup(func() { signal.Reset() })
	return b
}

// A stop signal that comes before the worker is started ends drainit, and starts none; a Ctrl-C ends it by
// INT itself, as a shell expects of a job, unless the status is reported as another.
func TestStopBeforeTheStart(t *testing.T) {
	isJob := os.Getpid() != 1 // PID 1 is no job of a shell
	for _, row := range rows.Read(t, "testdata/start/stops.tsv", 5) {
		sig, want := sigNamed(row[0]), Outcome{Status: number(row[3]), Interrupted: isJob && row[4] != ""}
		b := beforeStart(t, configOf("--stop-signal USR2 "+row[1]))
		s := b.s
		if row[2] != "" {
			s.job = term.NewJob(new(term.Terminal), s.queue, s)
		}
		s.queue.Subscribe(append(s.stops, signals.ForceStop), nil)
		if s.stopBeforeStart() {
			t.Fatal("stopped before a signal came")
		}
		must(unix.Kill(os.Getpid(), sig))
		for end := time.Now().Add(30 * time.Second); !s.queue.StopPending() && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // it is on its way through the runtime
		}
		stopped := s.stopBeforeStart()
		phase, processes := s.machine.Phase(), len(b.w.procs)
		got := s.exitCode()
		if !stopped || !reflect.DeepEqual(got, want) || phase != machine.Done || processes > 0 {
			t.Errorf("%v: %+v in phase %v, %d processes, want %+v", sig, got, phase, processes, want)
		}
		s.journal.Log.Close()
		line := signals.Name(sig) + " came before the start: the worker is not started"
		b.wantLog([]string{"only", line})
		fields := fmt.Sprintf("json ended level=info phase=done reason=stop status=%d request=%s",
			want.Status, signals.Name(sig))
		b.wantLog([]string{line, fields})
	}
}

// The worker is started as the command line says, in the background of a terminal if there is one, and dies
// with drainit. A shell above drainit that keeps the stop signal from it is warned of, where no person at a
// terminal may use it: then nothing is read.
func TestHowTheWorkerIsStarted(t *testing.T) {
	if os.Getppid() <= 1 {
		t.Skip("no process between this one and PID 1")
	}
	for _, tt := range []struct {
		terminal     bool
		above        string // PID 1 and drainit's parent
		reads, lines int
	}{
		{false, "", 1, 0},
		{false, "sh sh", 2, 1},
		{false, "go[run] sh", 2, 1},
		{false, "sh go[run]", 2, 0},
		{false, "tini sh", 2, 0},
		{false, "sh[TERM] sh", 2, 0},
		{false, "sh sh[TERM]", 1, 0},
		{true, "sh sh", 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			cfg := configOf("")
			cfg.Command, cfg.Env, cfg.Warning = []string{"node", "app.js"}, []string{"A=b"}, "of a setting"
			b := open(t, cfg, "node")
			b.w.putAbove(tt.above)
			if tt.terminal {
				onATerminal(b)
			}
			b.start()
			want := spawn.Config{Command: cfg.Command, Env: cfg.Env, OnTerminal: tt.terminal}
			if !reflect.DeepEqual(b.w.how, want) {
				t.Errorf("%+v, want %+v", b.w.how, want)
			}
			if b.w.did.reads != tt.reads {
				t.Errorf("%d reads of %q above drainit, want %d", b.w.did.reads, tt.above, tt.reads)
			}
			b.loop()
			b.close()
			b.wantLog([]string{"warning: of a setting"})
			b.wantLines(tt.lines, "warning: drainit's parent sh[")
		})
	}
}

// A worker that can't be started has the status of the reason; one that drainit's death would not end runs
// all the same.
func TestStartFails(t *testing.T) {
	for err, started := range map[error]bool{
		&spawn.Error{Status: spawn.StatusNotFound}: false, errors.New("no more pipes"): true,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, configOf(""), "node")
			b.w.startErr = err
			got := b.s.startWorker()
			if (got == nil) != started || !started && got.Status != spawn.StatusNotFound {
				t.Errorf("%v: %v", err, got)
			}
			b.s.journal.Log.Close()
			b.wantLines(map[bool]int{true: 1}[started],
				"warning: the worker will not be signalled if drainit is killed: no more pipes")
		})
	}
}

// A parent-death signal is asked for only where there is one.
func TestParentDeathSignal(t *testing.T) {
	runtime.LockOSThread() // it is the thread's, which ends with the test
	for _, sig := range []unix.Signal{0, unix.SIGUSR1} {
		cfg := configOf("")
		cfg.ParentDeathSignal = sig
		b := beforeStart(t, cfg)
		_, b.w.startErr = spawn.Start(spawn.Config{Command: []string{"/no/such/file"}})
		if out := b.s.run(); out.Status != spawn.StatusNotFound {
			t.Errorf("%+v, want status %d", out, spawn.StatusNotFound)
		}
		b.s.journal.Log.Close()
		b.wantLines(0, "warning")
		var got int32
		err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&got)), 0, 0, 0)
		if err != nil || got != int32(sig) {
			t.Errorf("%d, %v, want %d", got, err, sig)
		}
		_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	}
}

// A worker may have ended before drainit says that it runs.
func TestWorkerEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, configOf(""), "node")
		if err := b.s.startWorker(); err != nil {
			t.Fatal(err)
		}
		b.w.worker.exit(3)
		b.w.putAbove("sh sh")
		b.s.started()
		b.play("is done")
		b.s.journal.Log.Close()
		b.wantLines(0, "warning")
	})
}

// A TSTP stops drainit, as Ctrl-Z does any program, where a shell could continue it and none of the worker's
// processes handles the signal: else it means quiet.
func TestSuspends(t *testing.T) {
	before := unix.Getpgrp()
	if err := unix.Setpgid(0, 0); err != nil { // as a shell does with a job
		t.Skipf("cannot lead a process group: %v", err)
	}
	defer func() { _ = unix.Setpgid(0, before) }()
	for _, tt := range []struct {
		name, flags, tree, script string
		want                      bool
	}{
		{"no handler", "", "node[TERM]", "", true},
		{"a handler", "", "node[TSTP]", "", false},
		{"a handler below", "", "sh(node[TSTP])", "", false},
		{"not known", "", "node[TERM]", "proc descriptors", false},
		{"a rewrite", "--rewrite TSTP:USR1", "node[TERM]", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, tt.flags, tt.tree, func(b *bubble) {
				if b.s.suspends() {
					t.Error("it suspends without a terminal")
				}
				onATerminal(b)
				if !b.s.job.MaySuspend() {
					t.Skip("no shell could continue this process")
				}
				b.play(tt.script)
				if got := b.s.suspends(); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

// drainit may stop for a shell as long as its worker lives and no stop is in progress.
func TestMaySuspend(t *testing.T) {
	for script, want := range map[string]bool{"": true, "TSTP": true, "TERM": false, "node exits 0": false} {
		inBubble(t, "--forking=1", "node[TERM](job[TERM])", func(b *bubble) {
			b.play(script)
			if got := b.s.MaySuspend(); got != want {
				t.Errorf("after %q: %v, want %v", script, got, want)
			}
		})
	}
}

// Where a delivery of the real system goes, to a real child in a process group of its own: signal 0 asks
// without sending.
func TestRoutesOfDeliveries(t *testing.T) {
	if os.Getpid() == 1 {
		t.Skip("what is meant for the children of PID 1 would reach the whole namespace")
	}
	path, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no program sleep")
	}
	sys := linux(sigqueue.New())
	pid := known(sys.Start(spawn.Config{Command: []string{path, "1000"}, OnTerminal: true}))
	p := known(sys.Process(pid))
	other := p
	other.Start++
	for _, tt := range []struct {
		name string
		d    forward.Delivery
		want error
	}{
		{"a process", forward.Delivery{Process: p}, nil},
		{"another with its pid", forward.Delivery{Process: other}, reaper.ErrGone},
		{"a child, by its pid alone", forward.Delivery{Process: other, Child: true}, nil},
		{"a group", forward.Delivery{Target: forward.ToGroup, Process: p, PGID: p.PGID}, nil},
		{"a group that has gone", forward.Delivery{Target: forward.ToGroup, Process: p, PGID: firstPID},
			reaper.ErrGone},
		{"a child that has left its group",
			forward.Delivery{Target: forward.ToGroup, Process: p, PGID: firstPID, Child: true}, nil},
	} {
		if err := sys.Send(tt.d); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if sys.Send(forward.Delivery{Target: forward.ToNamespace}) == nil {
		t.Error("the namespace was signalled, though this is not PID 1")
	}
	if e, ok, err := sys.Wait(); ok || err != nil {
		t.Errorf("%+v, %v, while the child lives", e, err)
	}
	must(sys.Send(forward.Delivery{Target: forward.ToTree, Process: p, Signal: unix.SIGKILL}))
	for end := time.Now().Add(time.Minute); !sys.HasExited(pid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // its death is on its way
	}
	if e, ok, err := sys.Wait(); !ok || err != nil || e.PID != pid || e.TermSignal() != unix.SIGKILL {
		t.Errorf("%+v, %v, want %v killed", e, err, p)
	}
	if _, _, err := sys.Wait(); !errors.Is(err, reaper.ErrNoChildren) {
		t.Errorf("%v, want %v", err, reaper.ErrNoChildren)
	}
}
