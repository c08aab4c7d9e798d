package supervisor

import (
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/phase"
)

// Signals that mean nothing to drainit, by mode.
func TestOtherSignals(t *testing.T) {
	hup, ttin := on{unix.SIGHUP: stays}, on{unix.SIGTTIN: stays}
	group, alone := forward.ModeGroup, forward.ModeWorker
	for _, tt := range []struct {
		name   string
		mode   forward.Mode
		worker *process
		sig    unix.Signal
		sent   string
	}{
		{"the worker", 0, newProcess("node", hup, newProcess("job", hup)), unix.SIGHUP, "0s HUP node"},
		{"below the worker", 0, newProcess("sh", nil, newProcess("a", hup), newProcess("b", hup)), unix.SIGHUP, "0s HUP a; 0s HUP b"},
		{"none has a handler", 0, newProcess("sh", nil, newProcess("a", nil)), unix.SIGWINCH, "0s WINCH sh"},
		{"what would stop it", 0, newProcess("sh", nil, newProcess("a", nil)), unix.SIGTTIN, ""},
		{"what would stop it, handled below", 0, newProcess("sh", nil, newProcess("a", ttin)), unix.SIGTTIN, "0s TTIN a"},
		{"the group", group, newProcess("sh", nil, newProcess("a", hup)), unix.SIGWINCH, "0s WINCH sh a"},
		{"those of the group that handle what would stop them", group, newProcess("sh", nil, newProcess("a", ttin)), unix.SIGTTIN, "0s TTIN a"},
		{"the worker alone", alone, newProcess("sh", nil, newProcess("a", hup)), unix.SIGWINCH, "0s WINCH sh"},
		{"the worker alone, what would stop it", alone, newProcess("sh", nil, newProcess("a", ttin)), unix.SIGTTIN, "0s TTIN a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, inMode(tt.mode), with(tt.worker), func(b *bubble) {
				b.other(tt.sig)
				b.wantPhase(phase.Running)
				b.wantSent(tt.sent)
			})
		})
	}
}

// A signal that the worker dies of ends it, and all the rest follows.
func TestForwardedSignalKillsTheWorker(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil, newProcess("job", slow))), func(b *bubble) {
		b.other(unix.SIGHUP)
		b.wantPhase(phase.Draining)
		b.wantTitle("drainit:ended")
		b.other(unix.SIGUSR1)
		b.wantLines(1, "dropped SIGUSR1: the worker has gone")
		b.wantEnd(129, 2*time.Second)
		b.wantSent("0s HUP node; 0s TERM job")
		b.wantLines(0, "warning: node["+b.pid("node")+"] was killed") // drainit sent it
	})
}

// A CONT that is forwarded in running continues a worker that was stopped from outside.
func TestContinue(t *testing.T) {
	inBubble(t, config(), with(stopped(newProcess("node", slow))), func(b *bubble) {
		b.other(unix.SIGCONT)
		b.wantSent("0s CONT node")
		if b.w.worker.Stopped() {
			t.Error("it is still stopped")
		}
	})
}

func forking() Config {
	return configWith(func(c *Config) { c.Forking = true })
}

// daemonizes is a worker that leaves two daemons, of which one has a child.
func daemonizes() *process {
	does := func(after time.Duration) on {
		return on{unix.SIGTERM: exits(0, after), unix.SIGHUP: stays, unix.SIGTSTP: stays, unix.SIGCONT: stays}
	}
	a := newProcess("a", does(1500*time.Millisecond), newProcess("child", does(time.Second)))
	return newProcess("node", nil, a, newProcess("b", does(3*time.Second)))
}

// Each process that a worker left to drainit when it daemonized is treated as the worker.
func TestForking(t *testing.T) {
	inBubble(t, forking(), with(daemonizes()), func(b *bubble) {
		b.w.worker.exit(0)
		b.after(time.Hour)
		b.wantPhase(phase.Running)
		b.wantTitle("drainit:run")
		b.wantLines(1, "node[4194305] exited with status 0 and runs on in 2 processes (a[")
		b.other(unix.SIGHUP)
		b.other(unix.SIGTSTP)
		b.after(time.Second)
		b.other(unix.SIGCONT)
		b.after(machine.ResumeAfter)
		b.wantSent("1h0m0s HUP a; 1h0m0s HUP b; 1h0m0s TSTP a; 1h0m0s TSTP b; 1h0m1.05s CONT a; 1h0m1.05s CONT b")
		b.stop(unix.SIGTERM)
		b.wantEnd(0, time.Hour+27050*time.Millisecond)
		_, stop, _ := strings.Cut(b.w.timeline(0, b.began), "CONT b; ")
		if want := "1h0m1.05s TERM a; 1h0m1.05s TERM b; 1h0m26.05s TERM child"; stop != want { // a may have signalled what it leaves
			t.Errorf("sent %q, want %q", stop, want)
		}
	})
}

// A worker that has daemonized ends when the last that it left does.
func TestForkingEnds(t *testing.T) {
	inBubble(t, forking(), with(newProcess("node", nil, newProcess("a", quick), newProcess("b", quick))), func(b *bubble) {
		daemons := b.w.worker.below
		b.w.worker.exit(0)
		b.settle()
		daemons[0].exit(1)
		b.after(time.Minute)
		b.wantPhase(phase.Running)
		daemons[1].exit(1)
		b.wantEnd(0, time.Minute)
		b.wantSent("")
		b.wantLines(0, "done")
	})
}

// What is no daemonizing: a worker that fails, one that leaves nothing, and one whose
// leftovers can't be seen.
func TestForkingFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		worker *process
		proc   procState
		exit   int
		sent   string
		status int
		line   string
	}{
		{"it fails", newProcess("node", nil, newProcess("a", quick)), procThere, 1, "0s TERM a", 1, "warning: node[4194305] exited with status 1 and left 1 process"},
		{"it leaves nothing", newProcess("node", nil), procThere, 0, "", 0, "started"},
		{"no /proc", newProcess("node", nil, newProcess("a", quick)), procGone, 0, "0s TERM a", 0,
			"warning: cannot tell what the worker left behind: /proc is not mounted"},
		{"hidden", newProcess("node", nil, newProcess("a", slow)), procHidden, 0, "", 0, "started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, forking(), with(tt.worker), func(b *bubble) {
				b.w.proc = tt.proc
				b.w.worker.exit(tt.exit)
				b.settle()
				b.wantSent(tt.sent)
				b.wantLines(1, tt.line)
				b.wantLines(0, "node[4194305] exited with status 0 and runs on")
			})
		})
	}
}

// A signal for daemons that can't be seen is lost, which a line says.
func TestForkingWithoutProc(t *testing.T) {
	inBubble(t, forking(), with(daemonizes()), func(b *bubble) {
		b.w.worker.exit(0)
		b.settle()
		b.w.proc = procExhausted
		b.other(unix.SIGHUP)
		b.wantSent("")
		b.wantLines(1, "warning: cannot tell what the worker left behind: too many open files")
		b.w.proc = procThere
	})
}

// A worker that exits 0 and leaves what has a session of its own may have daemonized: a
// hint says how to say so.
func TestForkingHint(t *testing.T) {
	for _, tt := range []struct {
		name    string
		exit    int
		session bool
		forking bool
		hints   int
	}{
		{"a daemon", 0, true, false, 1},
		{"a leftover in the worker's session", 0, false, false, 0},
		{"a worker that fails", 1, true, false, 0},
		{"with the flag", 1, true, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			daemon := newProcess("daemon", quick)
			cfg := config()
			cfg.Forking = tt.forking
			inBubble(t, cfg, with(newProcess("node", nil, daemon)), func(b *bubble) {
				if tt.session {
					daemon.SID = daemon.PID
				}
				b.w.worker.exit(tt.exit)
				b.settle()
				line := strings.Join(b.lines("warning: node[4194305] exited"), "")
				if got := strings.Contains(line, "; if it runs on in them, give drainit the flag --forking"); got != (tt.hints == 1) {
					t.Errorf("the line is %q", line)
				}
			})
		})
	}
}

// The whole of a group is signalled once: those that were forked meanwhile, and those that
// can't be seen, too.
func TestGroupMode(t *testing.T) {
	cfg := config()
	cfg.Mode = forward.ModeGroup
	for _, tt := range []struct {
		name string
		proc procState
		sent string
	}{
		{"seen", procThere, "0s TERM node job"},
		{"hidden", procHidden, "0s TERM node job"},
		{"unseen", procGone, "0s TERM node job"},
		{"unseen for now", procExhausted, "0s TERM node job"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, cfg, with(newProcess("node", slow, newProcess("job", slow))), func(b *bubble) {
				b.w.proc, b.w.isInit = tt.proc, false
				b.stop(unix.SIGTERM)
				b.wantEnd(0, 2*time.Second)
				b.wantSent(tt.sent)
			})
		})
	}
}

// A process that was forked while its group was signalled was sent the signal too.
func TestGroupModeForksMeanwhile(t *testing.T) {
	inBubble(t, inMode(forward.ModeGroup), with(newProcess("node", slow)), func(b *bubble) {
		late := newProcess("late", never)
		late.parent = b.w.worker
		b.w.onSend = func(d forward.Delivery) {
			if d.Signal == unix.SIGTERM && late.PID == 0 {
				b.w.start(late)
			}
		}
		b.stop(unix.SIGTERM)
		b.after(10 * time.Second)
		b.wantSent("0s TERM node late")
	})
}

// A worker that has left the group it was given is signalled by its pid.
func TestGroupModeOfAWorkerThatLeftIt(t *testing.T) {
	inBubble(t, inMode(forward.ModeGroup), with(newProcess("node", slow)), func(b *bubble) {
		b.w.worker.PGID = 1 << 23
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 2*time.Second)
		b.wantSent("0s TERM node")
	})
}

// A shell is sent TERM in place of any other stop signal, and what is below it the signal
// itself.
func TestShellIsSentTERM(t *testing.T) {
	inBubble(t, config(), with(newProcess("sh", nil, newProcess("node", on{unix.SIGINT: exits(0, 0)}))), func(b *bubble) {
		b.stop(unix.SIGINT)
		b.wantEnd(0, 0)
		b.wantSent("0s TERM sh; 0s INT node")
	})
}

// What ends in the same batch as a stop signal comes has ended before it.
func TestExitBeforeStop(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", slow, newProcess("job", quick))), func(b *bubble) {
		b.w.mu.Lock()
		b.arrive(unix.SIGTERM)
		b.w.worker.end(unix.WaitStatus(6 << 8))
		b.w.mu.Unlock()
		b.wantEnd(6, 0)
		b.wantSent("0s TERM job")
	})
}

// A stop signal that comes while the loop is busy goes before another that came first.
func TestStopsGoFirst(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", on{unix.SIGTERM: stays, unix.SIGTSTP: stays, unix.SIGHUP: stays})), func(b *bubble) {
		var first sync.Once
		b.w.onRead = func(int) { first.Do(func() { time.Sleep(time.Second) }) }
		b.other(unix.SIGHUP) // which keeps the loop busy for a second
		b.other(unix.SIGTSTP)
		b.stop(unix.SIGTERM)
		b.after(2 * time.Second)
		b.wantPhase(phase.Draining)
		b.wantSent("1s HUP node; 1s TERM node")
	})
}
