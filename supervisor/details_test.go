package supervisor

import (
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/spawn"
	"drainit/internal/term"
)

// A worker that /proc hides has the name that it was started by in every line.
func TestNameOfAHiddenWorker(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.w.proc = procHidden
		b.w.refuse["node"] = unix.EPERM
		b.stop(unix.SIGTERM)
		b.wantLines(1, "warning: cannot send SIGTERM to node[4194305]: operation not permitted")
		delete(b.w.refuse, "node")
	})
}

func group() Config { return inMode(forward.ModeGroup) }

// A group that may not be signalled is warned of by the name of the worker.
func TestGroupRefused(t *testing.T) {
	inBubble(t, group(), with(newProcess("node", never)), func(b *bubble) {
		b.w.refuse["node"] = unix.EPERM
		b.stop(unix.SIGTERM)
		b.wantLines(1, "warning: cannot send SIGTERM to node[4194305]: operation not permitted")
		delete(b.w.refuse, "node")
	})
}

// A worker that dies of the signal to its group was not killed from outside.
func TestWorkerDiesWithItsGroup(t *testing.T) {
	inBubble(t, group(), with(newProcess("node", nil)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantEnd(143, 0)
		b.wantLines(0, "warning: node[4194305] was killed")
	})
}

// A group that can't be seen is continued as a whole if its worker is stopped.
func TestStoppedGroupWithoutProc(t *testing.T) {
	inBubble(t, group(), with(newProcess("node", slow, newProcess("job", slow))), func(b *bubble) {
		b.w.signal(b.w.worker, unix.SIGSTOP)
		b.after(time.Second)
		b.w.proc, b.w.isInit = procGone, false
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 3*time.Second)
		b.wantSent("1s TERM node job; 1s CONT node job")
	})
}

// Times in lines are in tenths of a second.
func TestTimeLeftIsRounded(t *testing.T) {
	cfg := config()
	cfg.Grace = 1234 * time.Millisecond
	inBubble(t, cfg, with(newProcess("node", slow)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantLines(1, "stopping: SIGTERM sent to node[4194305]; what still runs after 1.2s is killed")
	})
}

// A resume of what was never quieted names none.
func TestResumeOfNone(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
		b.other(unix.SIGTSTP)
		b.other(unix.SIGCONT)
		b.after(machine.ResumeAfter)
		if got := b.lines("running again"); len(got) != 1 || got[0] != "running again" {
			t.Errorf("%q", got)
		}
	})
}

// A TSTP stops drainit, as Ctrl-Z does any program, where a shell could continue it and
// none of the worker's processes handles the signal: else it means quiet.
func TestSuspends(t *testing.T) {
	for _, tt := range []struct {
		name   string
		worker *process
		proc   procState
		to     unix.Signal
		want   bool
	}{
		{"no handler", newProcess("node", slow), procThere, unix.SIGTSTP, true},
		{"a handler", newProcess("node", quietly()), procThere, unix.SIGTSTP, false},
		{"a handler below", newProcess("sh", nil, newProcess("node", quietly())), procThere, unix.SIGTSTP, false},
		{"not known", newProcess("node", slow), procExhausted, unix.SIGTSTP, false},
		{"a rewrite", newProcess("node", slow), procThere, unix.SIGUSR1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asAJob(t)
			cfg := config()
			cfg.Rewrites = map[unix.Signal]unix.Signal{unix.SIGTSTP: tt.to}
			inBubble(t, cfg, with(tt.worker), func(b *bubble) {
				if b.s.suspends() {
					t.Error("it suspends without a terminal")
				}
				onATerminal(b)
				if !b.s.job.MaySuspend() {
					t.Skip("no shell could continue this process")
				}
				b.w.proc = tt.proc
				if got := b.s.suspends(); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

// asAJob makes this process a process group of its own, as a shell does with a job.
func asAJob(t *testing.T) {
	t.Helper()
	before := unix.Getpgrp()
	if err := unix.Setpgid(0, 0); err != nil {
		t.Skipf("cannot lead a process group: %v", err)
	}
	t.Cleanup(func() { _ = unix.Setpgid(0, before) })
}

// The worker is started as the command line says, in the background of a terminal if there
// is one, and dies with drainit.
func TestHowTheWorkerIsStarted(t *testing.T) {
	for _, terminal := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := config()
			cfg.Command, cfg.Env = []string{"node", "app.js"}, []string{"A=b"}
			b := open(t, cfg, with(newProcess("node", nil)))
			if terminal {
				onATerminal(b)
			}
			b.start()
			want := spawn.Config{Command: cfg.Command, Env: cfg.Env, OnTerminal: terminal, OnDeath: unix.SIGTERM}
			if !reflect.DeepEqual(b.w.how, want) {
				t.Errorf("%+v, want %+v", b.w.how, want)
			}
			most := 1 // of a parent that is no shell
			if terminal {
				most = 0
			}
			if b.w.reads > most {
				t.Errorf("%d reads of what is above drainit, want at most %d", b.w.reads, most)
			}
			b.loop()
			b.close()
		})
	}
}

// Of a group, those that are stopped are continued one by one.
func TestStoppedMemberOfAGroup(t *testing.T) {
	inBubble(t, group(), with(newProcess("node", never, stopped(newProcess("job", never)))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantSent("0s TERM node job; 0s CONT job")
	})
}

// A worker that wait4 saw stop is known to have been where /proc can't be read, and a job's
// group is continued as a whole then.
func TestStoppedJobWithoutProc(t *testing.T) {
	for name, tt := range map[string]struct {
		stop func(*bubble)
		sent string
	}{
		"the worker": {func(b *bubble) { b.w.signal(b.w.worker, unix.SIGSTOP) }, "1s TERM node; 1s CONT node job"},
		"another":    {func(b *bubble) { b.w.signal(b.w.procs[0], unix.SIGSTOP) }, "1s TERM node"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), func(w *world) {
				w.start(newProcess("daemon", nil))
				w.worker = newProcess("node", never, newProcess("job", never))
			}, func(b *bubble) {
				onATerminal(b)
				b.s.job.Started(b.w.worker.PID)
				tt.stop(b)
				b.after(time.Second)
				b.w.proc = procGone
				b.stop(unix.SIGTERM)
				b.wantSent(tt.sent)
			})
		})
	}
}

// drainit may stop for a shell as long as its worker lives and no stop is in progress.
func TestMaySuspend(t *testing.T) {
	for name, tt := range map[string]struct {
		into func(*bubble)
		want bool
	}{
		"running":  {func(*bubble) {}, true},
		"quiet":    {func(b *bubble) { b.other(unix.SIGTSTP) }, true},
		"draining": {func(b *bubble) { b.stop(unix.SIGTERM) }, false},
		"gone":     {func(b *bubble) { b.w.worker.exit(0) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, forking(), with(newProcess("node", never, newProcess("job", never))), func(b *bubble) {
				tt.into(b)
				b.settle()
				if got := (b.s).MaySuspend(); got != tt.want {
					t.Errorf("%v, want %v", got, tt.want)
				}
			})
		})
	}
}

// A Ctrl-C before the start ends drainit by INT itself, as a shell expects of a job, unless
// the status is reported as another.
func TestInterruptBeforeTheStart(t *testing.T) {
	if os.Getpid() == 1 {
		t.Skip("PID 1 is no job of a shell")
	}
	for _, tt := range []struct {
		sig   unix.Signal
		remap []int
		want  Outcome
	}{
		{unix.SIGTERM, nil, Outcome{Status: 143}},
		{unix.SIGINT, nil, Outcome{Status: 130, Interrupted: true}},
		{unix.SIGINT, []int{130}, Outcome{Status: 0}},
		{unix.SIGINT, []int{143}, Outcome{Status: 130, Interrupted: true}},
	} {
		cfg := config()
		cfg.RemapExit = tt.remap
		s, lines := beforeStart(t, cfg, newWorld())
		s.job = term.NewJob(new(term.Terminal), s.queue, s)
		s.queue.Subscribe(s.cfg.stops, nil)
		signalSelf(t, s, tt.sig)
		if !s.stopBeforeStart() || s.exitCode() != tt.want {
			t.Errorf("%v: %+v, want %+v", tt.sig, s.exitCode(), tt.want)
		}
		lines()
	}
}
