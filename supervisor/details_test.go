package supervisor

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/proc"
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

func group() Config {
	cfg := config()
	cfg.Mode = forward.ModeGroup
	return cfg
}

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
		b.wantLines(1, "draining, SIGKILL in 1.2s;")
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

// The program of a process is read as long as it is that process.
func TestWithProgram(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
		known := b.w.worker.stat()
		known.Exe, known.Args = "", nil
		other := known
		other.Start++
		gone := proc.Process{ID: proc.ID{PID: 7}}
		for _, tt := range []struct {
			p   proc.Process
			exe string
		}{{known, "node"}, {other, ""}, {gone, ""}} {
			if got := b.s.withProgram(tt.p); got.ID != tt.p.ID || got.Exe != tt.exe {
				t.Errorf("%v: %+v, want %q", tt.p.ID, got, tt.exe)
			}
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
