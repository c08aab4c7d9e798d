package supervisor

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/internal/title"
)

// quick and slow are workers' handlers of a stop signal.
var (
	quick = on{unix.SIGTERM: exits(0, 0)}
	slow  = on{unix.SIGTERM: exits(0, 2*time.Second)}
	never = on{unix.SIGTERM: stays}
)

// with is a world with this worker.
func with(p *process) func(*world) { return func(w *world) { w.worker = p } }

// stop is a stop of one worker: what is sent, the exit status, and how long it takes.
type stop struct {
	name   string
	cfg    func(*Config)
	worker *process
	sig    unix.Signal
	sent   string
	status int
	took   time.Duration
}

func playStops(t *testing.T, stops []stop) {
	t.Helper()
	for _, tt := range stops {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, configWith(tt.cfg), with(tt.worker), func(b *bubble) {
				b.stop(tt.sig)
				b.wantEnd(tt.status, tt.took)
				b.wantSent(tt.sent)
			})
		})
	}
}

func TestStopOfAWorker(t *testing.T) {
	playStops(t, []stop{
		{"it exits", nil, newProcess("node", slow), unix.SIGTERM, "0s TERM node", 0, 2 * time.Second},
		{"its status is reported", nil, newProcess("node", on{unix.SIGTERM: exits(3, time.Second)}), unix.SIGTERM, "0s TERM node", 3, time.Second},
		{"it dies of the signal", nil, newProcess("node", nil), unix.SIGTERM, "0s TERM node", 143, 0},
		{"the signal that came is sent", nil, newProcess("node", on{unix.SIGINT: exits(0, 0)}), unix.SIGINT, "0s INT node", 0, 0},
		{"it dies of INT", nil, newProcess("node", nil), unix.SIGINT, "0s INT node", 130, 0},
		{"it outlives the grace", nil, newProcess("node", never), unix.SIGTERM, "0s TERM node; 30s KILL node", 137, 30 * time.Second},
		{"a grace of 0", func(c *Config) { c.Grace = 0 }, newProcess("node", slow), unix.SIGTERM, "0s KILL node", 137, 0},
		{"an infinite grace", func(c *Config) { c.Grace = machine.Forever }, newProcess("node", on{unix.SIGTERM: exits(0, 50*time.Minute)}), unix.SIGTERM,
			"0s TERM node", 0, 50 * time.Minute},
		{"it outlives SIGKILL", nil, undying("node"), unix.SIGTERM, "0s TERM node; 30s KILL node x100", 137, 35 * time.Second},
	})
}

// What is below a shell that dies of the signal is signalled when that has: it could still
// wait for it, and no other would see its status then.
func TestDeathOfTheParentComesFirst(t *testing.T) {
	for dies, sent := range map[time.Duration]string{50 * time.Microsecond: "; 50µs TERM node", time.Second: "; 1s TERM node", time.Minute: ""} {
		sh := newProcess("sh", nil, newProcess("node", quick))
		sh.on = on{unix.SIGTERM: func(p *process) { time.AfterFunc(dies, func() { p.dies(unix.SIGTERM) }) }}
		inBubble(t, config(), with(sh), func(b *bubble) {
			b.arrive(unix.SIGTERM)
			b.after(2 * time.Second)
			b.wantSent("0s TERM sh" + sent)
		})
	}
}

func TestStopByFlags(t *testing.T) {
	playStops(t, []stop{
		{"another stop signal", func(c *Config) { c.StopSignals = []unix.Signal{unix.SIGQUIT} }, newProcess("node", on{unix.SIGQUIT: exits(0, 0)}),
			unix.SIGQUIT, "0s QUIT node", 0, 0},
		{"a rewrite", func(c *Config) { c.Rewrites = signals.Rewrites{unix.SIGTERM: unix.SIGINT} }, newProcess("node", on{unix.SIGINT: exits(4, 0)}),
			unix.SIGTERM, "0s INT node", 4, 0},
		{"a stop delay", func(c *Config) { c.StopDelay = 5 * time.Second }, newProcess("node", slow), unix.SIGTERM, "5s TERM node", 0, 7 * time.Second},
		{"a stop delay is quiet", func(c *Config) { c.StopDelay = 5 * time.Second }, newProcess("node", on{unix.SIGTERM: exits(0, 0), unix.SIGTSTP: stays}),
			unix.SIGTERM, "0s TSTP node; 5s TERM node", 0, 5 * time.Second},
		{"143 is reported as 0", func(c *Config) { c.RemapExit = []int{1, 143} }, newProcess("node", nil), unix.SIGTERM, "0s TERM node", 0, 0},
		{"another status is not", func(c *Config) { c.RemapExit = []int{1, 144} }, newProcess("node", nil), unix.SIGTERM, "0s TERM node", 143, 0},
		{"137 of a kill is reported as 0", func(c *Config) { c.RemapExit = []int{137} }, undying("node"), unix.SIGTERM,
			"0s TERM node; 30s KILL node x100", 0, 35 * time.Second},
	})
}

func TestStopOfWhatIsBelow(t *testing.T) {
	playStops(t, []stop{
		{"what it leaves is killed", nil, newProcess("node", quick, newProcess("job", never)), unix.SIGTERM,
			"0s TERM node; 25s TERM job; 30s KILL job", 137, 30 * time.Second},
		{"what it leaves is killed, whatever status is reported as 0", func(c *Config) { c.RemapExit = []int{3} },
			newProcess("node", on{unix.SIGTERM: exits(3, 0)}, newProcess("job", never)), unix.SIGTERM,
			"0s TERM node; 25s TERM job; 30s KILL job", 137, 30 * time.Second},
		{"a status of its own stays", nil, newProcess("node", on{unix.SIGTERM: exits(3, 0)}, newProcess("job", never)), unix.SIGTERM,
			"0s TERM node; 25s TERM job; 30s KILL job", 3, 30 * time.Second},
		{"what it leaves may exit in time", nil, newProcess("node", quick, newProcess("job", on{unix.SIGTERM: exits(9, time.Second)})), unix.SIGTERM,
			"0s TERM node; 25s TERM job", 0, 26 * time.Second},
		{"a stopped worker is continued", nil, stopped(newProcess("node", slow)), unix.SIGTERM, "0s TERM node; 0s CONT node", 0, 2 * time.Second},
		{"the worker's group", func(c *Config) { c.Mode = forward.ModeGroup }, newProcess("sh", nil, stopped(newProcess("node", slow))), unix.SIGTERM,
			"0s TERM sh node; 0s CONT node", 0, 2 * time.Second},
		{"the worker alone", func(c *Config) { c.Mode = forward.ModeWorker }, newProcess("node", quick, newProcess("job", never)), unix.SIGTERM,
			"0s TERM node; 0s KILL job", 0, 0},
	})
}

// undying is stuck in the kernel.
func undying(name string) *process {
	p := newProcess(name, never)
	p.undying = true
	return p
}

// stopped is stopped by its user.
func stopped(p *process) *process {
	p.State = 'T'
	return p
}

// A worker that exits by itself: its leftovers are sent TERM, and have 30s at most.
func TestWorkerExitsByItself(t *testing.T) {
	leftover := func(does on) *process { return newProcess("node", nil, newProcess("job", does)) }
	for _, tt := range []struct {
		name   string
		cfg    func(*Config)
		worker *process
		sent   string
		status int
		took   time.Duration
	}{
		{"and leaves nothing", nil, newProcess("node", nil), "", 7, 0},
		{"and what it leaves exits", nil, leftover(slow), "0s TERM job", 7, 2 * time.Second},
		{"and what it leaves does not", nil, leftover(never), "0s TERM job; 30s KILL job", 7, 30 * time.Second},
		{"with a longer grace", func(c *Config) { c.Grace = time.Hour }, leftover(never), "0s TERM job; 30s KILL job", 7, 30 * time.Second},
		{"with an infinite grace", func(c *Config) { c.Grace = machine.Forever }, leftover(never), "0s TERM job; 30s KILL job", 7, 30 * time.Second},
		{"with a shorter grace", func(c *Config) { c.Grace = 4 * time.Second }, leftover(never), "0s TERM job; 4s KILL job", 7, 4 * time.Second},
		{"with a grace of 0", func(c *Config) { c.Grace = 0 }, leftover(slow), "0s KILL job", 7, 0},
		{"with a rewrite", func(c *Config) { c.Rewrites = signals.Rewrites{unix.SIGTERM: unix.SIGINT} }, leftover(on{unix.SIGINT: exits(0, 0)}),
			"0s INT job", 7, 0},
		{"with TERM dropped", func(c *Config) { c.Rewrites = signals.Rewrites{unix.SIGTERM: signals.Drop} }, leftover(quick), "0s TERM job", 7, 0},
		{"for the worker alone", func(c *Config) { c.Mode = forward.ModeWorker }, leftover(quick), "0s KILL job", 7, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, configWith(tt.cfg), with(tt.worker), func(b *bubble) {
				tt.worker.exit(7)
				b.wantEnd(tt.status, tt.took)
				b.wantSent(tt.sent)
			})
		})
	}
}

// The first stop signal after the worker exited begins the grace anew; from then on what
// is killed shows in the status.
func TestStopAfterTheWorkerExited(t *testing.T) {
	worker := newProcess("node", nil, newProcess("job", never))
	inBubble(t, config(), with(worker), func(b *bubble) {
		worker.exit(0)
		b.after(20 * time.Second)
		b.stop(unix.SIGTERM)
		b.wantLines(1, "SIGTERM: the grace period starts now, SIGKILL in 30s")
		b.wantEnd(137, 50*time.Second)
		b.wantSent("0s TERM job; 50s KILL job")
		b.wantLines(1, "warning: grace period of 30s over: killing job[")
	})
}

func TestForcedStop(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.after(50 * time.Millisecond)
		b.stop(unix.SIGINT)
		b.wantPhase(phase.Draining)
		b.after(49 * time.Millisecond)
		b.stop(unix.SIGTERM)
		b.wantLines(1, "SIGINT repeated within 100ms: treated as one request")
		b.wantLines(0, "SIGTERM within 100ms")
		b.after(time.Millisecond)
		b.stop(unix.SIGINT)
		b.wantEnd(137, 100*time.Millisecond)
		b.wantSent("0s TERM node; 100ms KILL node")
		b.wantLines(1, "warning: second stop signal, force-stop: killing node[")
	})
}

// A second stop signal that comes while the first is acted upon goes by the time at which
// it came, and not at which it is taken.
func TestSecondStopDuringASlowSnapshot(t *testing.T) {
	for _, tt := range []struct {
		apart time.Duration
		sent  string
	}{{machine.SameRequest - 1, "3s TERM node"}, {machine.SameRequest, "3s TERM node; 6s KILL node"}} {
		inBubble(t, config(), func(w *world) { w.slow = 3 * time.Second; w.worker = newProcess("node", never) }, func(b *bubble) {
			b.arrive(unix.SIGTERM)
			b.after(tt.apart) // the loop is in its snapshot
			b.arrive(unix.SIGTERM)
			b.after(7 * time.Second)
			b.wantSent(tt.sent)
		})
	}
}

// A second stop signal that is to be ignored is, and said so once; the grace ends the drain
// all the same, and so does drainit stop --force, which says by its name what it is.
func TestSecondStopIgnored(t *testing.T) {
	cfg := config()
	cfg.SecondStopIgnored = true
	inBubble(t, cfg, with(newProcess("node", never)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		for range 3 {
			b.after(time.Second)
			b.stop(unix.SIGINT)
		}
		b.wantPhase(phase.Draining)
		b.wantLines(1, "SIGINT again: ignored")
		b.wantEnd(137, 30*time.Second)
		b.wantSent("0s TERM node; 30s KILL node")
	})
	for _, slow := range []time.Duration{0, time.Second} { // a look at all processes takes long
		inBubble(t, cfg, func(w *world) { w.slow = slow; w.worker = newProcess("node", never) }, func(b *bubble) {
			b.stop(unix.SIGTERM)
			b.after(4 * time.Second)
			b.w.start(newProcess(title.Force(os.Getpid()), nil))
			b.stop(unix.SIGTERM)
			b.after(3 * slow)
			b.wantLines(1, "warning: second stop signal, force-stop: killing node[")
			b.wantEnd(137, 4*time.Second+slow)
		})
	}
}

// A stop signal that may be the first one's request, for it comes soon behind it or late by
// the machine, is a force-stop all the same where drainit stop --force asks for one.
func TestForcedStopIsNotTheSameRequest(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.after(50 * time.Millisecond)
		b.w.start(newProcess(title.Force(os.Getpid()+1), nil)) // another drainit's
		b.stop(unix.SIGTERM)
		b.wantPhase(phase.Draining)
		b.wantLines(1, "SIGTERM repeated within 100ms: treated as one request")
		b.w.start(newProcess(title.Force(os.Getpid()), nil))
		b.stop(unix.SIGTERM)
		b.wantLines(1, "warning: second stop signal, force-stop: killing node[")
		b.wantEnd(137, 50*time.Millisecond)
	})
}

// Signals that may take a snapshot of all processes wait while snapshots have had their fifth
// of the time.
func TestForwardedSignalsLeaveTime(t *testing.T) {
	inBubble(t, config(), func(w *world) {
		w.slow = 100 * time.Millisecond
		w.worker = newProcess("node", on{unix.SIGTERM: stays, unix.SIGUSR2: stays}, newProcess("job", on{unix.SIGTERM: stays, unix.SIGUSR1: stays}))
	}, func(b *bubble) {
		b.stop(unix.SIGTERM)
		before := b.cost().snapshots
		for range 190 { // a flood
			b.after(100 * time.Millisecond)
			b.other(unix.SIGUSR1)
			b.other(unix.SIGUSR2)
		}
		b.after(time.Second)
		for name, sig := range map[string]unix.Signal{"node": unix.SIGUSR2, "job": unix.SIGUSR1} {
			if got := b.w.count(name, sig); got < 10 || got > 38 {
				t.Errorf("%d came to the %s, want some that come in turn with the snapshots", got, name)
			}
		}
		if got := b.cost().snapshots - before; got > 38+5 {
			t.Errorf("%d snapshots of 0.1s in 19s", got)
		}
		b.w.slow = 0
		b.wantEnd(137, 30*time.Second)
	})
}

// At the end of a stop delay a line says that the worker is signalled now; that it was not
// quieted before is nothing to warn of.
func TestStopDelayEndsInALine(t *testing.T) {
	cfg := config()
	cfg.StopDelay = 5 * time.Second
	inBubble(t, cfg, with(newProcess("node", slow)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.after(4 * time.Second)
		b.wantLines(0, "the stop delay is over")
		b.wantLines(0, "warning")
		b.after(time.Second)
		b.wantLines(1, "the stop delay is over: SIGTERM sent to node[")
		b.wantEnd(0, 7*time.Second)
	})
}

// A worker that something else stops is alive and does nothing: that is said once, and
// readiness falls for as long as it is so.
func TestWorkerStoppedByAnother(t *testing.T) {
	worker := newProcess("node", quick)
	inBubble(t, config(), with(worker), func(b *bubble) {
		for range 2 {
			b.changes(worker, 'T', unix.WaitStatus(int(unix.SIGSTOP)<<8|0x7f))
			b.wantTitle("drainit:stopped")
			b.changes(worker, 'S', 0xffff)
			b.wantTitle("drainit:run")
		}
		b.wantLines(1, "warning: node[4194305] is stopped (state T) and does no work")
		b.changes(worker, 'T', unix.WaitStatus(int(unix.SIGSTOP)<<8|0x7f))
		b.stop(unix.SIGTERM)
		b.wantSent("0s TERM node; 0s CONT node")
	})
}

// A worker that dies of a signal which drainit forwarded leaves a line and a message: its
// status alone looks like a stop.
func TestForwardedSignalThatKills(t *testing.T) {
	worker := newProcess("node", nil)
	inBubble(t, config(), with(worker), func(b *bubble) {
		b.other(unix.SIGHUP)
		b.wantEnd(129, 0)
		const line = "node[4194305] died of SIGHUP, which drainit forwarded: it has no handler for it"
		b.wantLines(1, "warning: "+line)
		if got := b.s.journal.Message; got != line {
			t.Errorf("the termination message is %q", got)
		}
	})
}

// A signal that may have come with the first is the same request, however late it is taken
// in.
func TestStopThatMayHaveComeWithTheFirst(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		began := time.Now()
		b.after(time.Second)
		b.w.queue.Arrive(sigqueue.Arrival{Signal: unix.SIGTERM, Earliest: began.Add(machine.SameRequest - 1)})
		b.after(0)
		b.wantPhase(phase.Draining)
		b.w.queue.Arrive(sigqueue.Arrival{Signal: unix.SIGTERM, Earliest: began.Add(machine.SameRequest)})
		b.after(0)
		b.wantSent("0s TERM node; 1s KILL node")
	})
}

// The grace begins when the stop signal came, not when the loop gets to it.
func TestGraceBeginsWithTheArrival(t *testing.T) {
	inBubble(t, config(), func(w *world) { w.slow = 3 * time.Second; w.worker = newProcess("node", never) }, func(b *bubble) {
		b.arrive(unix.SIGTERM)
		b.after(27 * time.Second)
		b.wantPhase(phase.Draining)
		b.w.slow = 0
		b.wantEnd(137, 30*time.Second)
	})
}

// The exit status of what takes the place of a shell that died of the signal it was sent
// is the one that counts.
func TestSuccessor(t *testing.T) {
	for name, tt := range map[string]struct {
		job    *process
		sent   string
		status int
		took   time.Duration
	}{
		"exits":              {newProcess("node", on{unix.SIGTERM: exits(5, time.Second)}), "0s TERM sh; 0s TERM node", 5, time.Second},
		"outlives the grace": {newProcess("node", never), "0s TERM sh; 0s TERM node; 30s KILL node", 137, 30 * time.Second},
		"has no handler":     {newProcess("node", nil), "0s TERM sh; 0s TERM node", 143, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(newProcess("sh", nil, tt.job)), func(b *bubble) {
				b.stop(unix.SIGTERM)
				b.wantEnd(tt.status, tt.took)
				b.wantSent(tt.sent)
				line := fmt.Sprintf("sh[%d] died of SIGTERM; node[%d] is the worker now", firstPID, firstPID+1)
				b.wantLines(min(1, len(tt.job.on)), line)
			})
		})
	}
}

// A successor that dies of a signal that drainit did not send was killed from outside; one
// that dies of the signal that it was sent was not.
func TestSuccessorDies(t *testing.T) {
	for by, lines := range map[unix.Signal]int{unix.SIGTERM: 0, unix.SIGSEGV: 1} {
		job := newProcess("node", never)
		inBubble(t, config(), with(newProcess("sh", nil, job)), func(b *bubble) {
			b.stop(unix.SIGTERM)
			b.after(time.Second)
			job.dies(by)
			b.wantEnd(128+int(by), time.Second)
			b.wantLines(lines, "warning: "+job.String()+" was killed by "+signals.Name(by)+", which drainit did not send")
		})
	}
}

// A stop signal in a rewrite to nothing has not come; nor is it waited for.
func TestDroppedSignals(t *testing.T) {
	cfg := config()
	cfg.Rewrites = signals.Rewrites{unix.SIGTERM: signals.Drop, unix.SIGHUP: signals.Drop, unix.SIGTSTP: signals.Drop, unix.SIGUSR1: unix.SIGUSR2}
	does := on{unix.SIGTERM: stays, unix.SIGTSTP: stays, unix.SIGUSR2: stays, unix.SIGINT: exits(0, 0)}
	inBubble(t, cfg, with(newProcess("node", does)), func(b *bubble) {
		for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGTSTP} {
			b.other(sig) // a stop signal that is dropped is not one for the queue
			b.wantLines(1, "dropped "+signals.Name(sig))
		}
		b.wantPhase(phase.Running)
		b.wantSent("")
		b.other(unix.SIGUSR1)
		b.wantSent("0s USR2 node")
		b.stop(unix.SIGINT)
		b.wantEnd(0, 0)
	})
}
