package supervisor

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/phase"
	"drainit/internal/spawn"
	"drainit/reaper"
)

// A process that may not be signalled is warned of once, counts as signalled, and is not
// tried again.
func TestSignalRefused(t *testing.T) {
	for name, sh := range map[string]*process{
		"the worker": newProcess("node", never),
		"an orphan":  newProcess("sh", nil, newProcess("node", never)),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(sh), func(b *bubble) {
				b.w.refuse["node"] = unix.EPERM
				id := b.pid("node")
				b.stop(unix.SIGTERM)
				b.other(unix.SIGHUP)
				b.after(29 * time.Second)
				if n := b.w.count("node", unix.SIGTERM); n != 1 {
					t.Errorf("it was sent TERM %d times: %s", n, b.w.timeline(0, b.began))
				}
				b.wantLines(1, "warning: cannot send SIG")
				b.wantLines(1, "warning: cannot send SIGTERM to node["+id+"]: operation not permitted; it runs as another user, give drainit CAP_KILL")
				delete(b.w.refuse, "node")
				b.wantEnd(137, 30*time.Second)
			})
		})
	}
}

// What fails for another reason gets a line without that hint.
func TestSignalFails(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil)), func(b *bubble) {
		b.w.refuse["node"] = unix.EINVAL
		b.other(unix.SIGUSR1)
		b.other(unix.SIGUSR1)
		b.wantLines(1, "warning: cannot send SIGUSR1 to node[")
		b.wantLines(1, "warning: cannot send SIGUSR1 to node["+b.pid("node")+"]: invalid argument")
		delete(b.w.refuse, "node")
		b.stop(unix.SIGTERM)
		b.wantEnd(143, 0)
	})
}

// What has just gone is not worth a line.
func TestSignalToWhatHasGone(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
		b.w.refuse["node"] = reaper.ErrGone
		b.stop(unix.SIGTERM)
		b.wantLines(0, "warning: cannot send")
		b.wantLines(0, "sent ")
	})
}

// A kill that may not be is said once, and the passes go on.
func TestKillRefused(t *testing.T) {
	inBubble(t, config(), with(undying("node")), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.w.refuse["node"] = errors.New("cannot kill node")
		b.wantEnd(137, 35*time.Second)
		b.wantLines(1, "warning: cannot kill node")
		if n := b.w.count("node", unix.SIGKILL); n != 100 {
			t.Errorf("%d passes, want 100", n)
		}
	})
}

// No descriptor is left when the stop begins: the worker is signalled all the same, once;
// what it leaves is seen when there is one again.
func TestNoDescriptorsAtTheStop(t *testing.T) {
	stopWithoutDescriptors(t, forward.ModeAuto, "0s TERM node; 25s TERM daemon; 25s TERM job")
}

// Likewise of a group, whose members were all signalled.
func TestNoDescriptorsAtTheStopOfAGroup(t *testing.T) {
	stopWithoutDescriptors(t, forward.ModeGroup, "0s TERM node job; 25s TERM daemon")
}

// stopWithoutDescriptors stops a worker that exits after 4s; 1.5s after the stop, /proc can
// be read again.
func stopWithoutDescriptors(t *testing.T, mode forward.Mode, sent string) {
	cfg := config()
	cfg.Mode = mode
	node := newProcess("node", on{unix.SIGTERM: exits(0, 4*time.Second)}, newProcess("job", never))
	daemon := newProcess("daemon", quick)
	inBubble(t, cfg, func(w *world) { w.worker = node; w.start(daemon) }, func(b *bubble) {
		b.w.proc = procExhausted
		b.stop(unix.SIGTERM)
		b.after(1500 * time.Millisecond)
		b.w.proc = procThere
		b.after(28 * time.Second)
		b.wantSent(sent)
	})
}

// No descriptor is left when the worker exits: a line says so once, and what it leaves is
// signalled when there is one again.
func TestNoDescriptorsAtTheExit(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil, newProcess("job", quick))), func(b *bubble) {
		b.w.proc = procExhausted
		b.w.worker.exit(3)
		b.after(2500 * time.Millisecond)
		b.wantSent("")
		b.wantLines(1, "warning: cannot tell what the worker left behind: too many open files")
		b.wantLines(1, "warning: node[4194305] exited with status 3 and left what /proc does not show, SIGKILL in 30s")
		b.w.proc = procThere
		b.wantEnd(3, 3*time.Second)
		b.wantSent("3s TERM job")
	})
}

// Without /proc, PID 1 signals its namespace, once. Elsewhere nothing can be signalled but
// the worker and its group: a line says so once.
func TestNoProcAtTheExit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		isInit bool
		sent   string
		took   time.Duration
		line   string
	}{
		{"PID 1", true, "0s TERM job; 30s KILL job", 30 * time.Second,
			"warning: sent SIGTERM to every process that is left, signalled before or not: /proc is not mounted"},
		{"not PID 1", false, "", 35 * time.Second, "warning: cannot tell what the worker left behind: /proc is not mounted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, config(), with(newProcess("node", nil, newProcess("job", never))), func(b *bubble) {
				b.w.proc, b.w.isInit = procGone, tt.isInit
				b.w.worker.exit(3)
				b.wantEnd(3, tt.took)
				b.wantSent(tt.sent)
				b.wantLines(1, tt.line)
				b.wantLines(0, "sent ")
			})
		})
	}
}

// A worker that lives is asked nothing without /proc, and may signal the others itself.
func TestNoProcWhileTheWorkerLives(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow, newProcess("job", quick))), func(b *bubble) {
		b.w.proc = procGone
		b.stop(unix.SIGTERM)
		b.after(1500 * time.Millisecond)
		b.wantSent("0s TERM node")
		b.wantLines(0, "warning")
		b.wantEnd(0, 2*time.Second)
		b.wantSent("0s TERM node; 2s TERM job")
	})
}

// What is stopped is known from wait4 where /proc can't be read.
func TestStoppedWorkerWithoutProc(t *testing.T) {
	for state, sent := range map[procState]string{procGone: "1s TERM node; 1s CONT node", procExhausted: "1s TERM node; 1s CONT node"} {
		inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
			b.w.signal(b.w.worker, unix.SIGSTOP)
			b.after(time.Second)
			b.w.proc = state
			b.stop(unix.SIGTERM)
			b.wantEnd(0, 3*time.Second)
			b.wantSent(sent)
		})
	}
}

// A worker that was continued is not continued again.
func TestContinuedWorkerWithoutProc(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
		b.w.signal(b.w.worker, unix.SIGSTOP)
		b.after(time.Second)
		b.w.signal(b.w.worker, unix.SIGCONT)
		b.after(time.Second)
		b.w.proc = procGone
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 4*time.Second)
		b.wantSent("2s TERM node")
	})
}

// What is left though hidden shows in the status when it had to be killed, and is not
// taken for a kill from outside.
func TestKillOfWhatIsHidden(t *testing.T) {
	for name, tt := range map[string]struct {
		worker *process
		line   string
	}{
		"the worker": {newProcess("node", never), "stopped after 30s: node[4194305] died of SIGKILL; killed what was left (grace period of 30s over); exit status 137"},
		"a leftover": {newProcess("node", quick, newProcess("job", never)), "stopped after 30s: node[4194305] exited with status 0; killed what was left (grace period of 30s over); exit status 137"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(tt.worker), func(b *bubble) {
				b.w.proc = procHidden
				b.stop(unix.SIGTERM)
				b.wantEnd(137, 30*time.Second)
				b.wantLines(1, "warning: grace period of 30s over: killing what is left")
				b.wantLines(1, tt.line)
				b.wantLines(1, "warning")
			})
		})
	}
}

// What exits by itself as the grace ends was not killed.
func TestExitAtTheEndOfTheGrace(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", quick, newProcess("job", never))), func(b *bubble) {
		b.w.proc = procHidden
		job := b.w.worker.below[0]
		b.w.onSend = func(d forward.Delivery) {
			if d.Signal == unix.SIGKILL {
				job.exit(0)
			}
		}
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 30*time.Second)
	})
}

// wait4 that fails is said, and drainit goes on.
func TestWaitFails(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
		b.w.waitErr = errors.New("wait4: bad address")
		b.w.queue.Put(unix.SIGCHLD)
		b.settle()
		b.wantPhase(phase.Running)
		b.wantLines(1, "error: cannot wait for children: wait4: bad address")
		b.w.waitErr = nil
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 2*time.Second)
	})
}

// A worker that can't be started has the status of the reason; one that drainit's death
// would not end runs all the same.
func TestStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := open(t, config(), func(w *world) { w.startErr = &spawn.Error{Status: spawn.StatusNotFound} })
		err := b.s.startWorker()
		if err == nil || err.Status != spawn.StatusNotFound || b.s.machine.Phase() != phase.Starting {
			t.Errorf("%v in phase %v", err, b.s.machine.Phase())
		}
		b.s.journal.Log.Close()
	})
	inBubble(t, config(), func(w *world) {
		w.startErr = errors.New("the worker will not be signalled if drainit is killed: no more pipes")
	}, func(b *bubble) {
		b.wantPhase(phase.Running)
		b.wantLines(1, "warning: the worker will not be signalled if drainit is killed: no more pipes")
	})
}
