package supervisor

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/machine"
	"drainit/internal/phase"
	"drainit/internal/signals"
)

// quietly handles TSTP, and is continued by any CONT.
func quietly() on {
	return on{unix.SIGTSTP: stays, unix.SIGCONT: stays, unix.SIGTERM: exits(0, 0)}
}

func TestQuietAndResume(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", quietly())), func(b *bubble) {
		for range 2 {
			b.other(unix.SIGTSTP)
			b.wantPhase(phase.Quiet)
			b.wantTitle("drainit:quiet")
			b.after(time.Second)
			b.other(unix.SIGCONT)
			b.after(49 * time.Millisecond)
			b.wantPhase(phase.Quiet)
			b.after(time.Millisecond)
			b.wantPhase(phase.Running)
			b.wantTitle("drainit:run")
		}
		b.wantSent("0s TSTP node; 1.05s CONT node; 1.05s TSTP node; 2.1s CONT node")
		b.wantLines(2, "quiet: SIGTSTP to node[")
		b.wantLines(2, "running again: SIGCONT to node[")
	})
}

// The title of quiet says whether a process handles it: it waits for the snapshot that tells.
func TestTitleOfQuietWaitsForTheSnapshot(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		var shown []string
		b.w.onRead = func(int) { shown = append(shown, b.s.title) }
		b.other(unix.SIGTSTP)
		b.wantTitle("drainit:quiet?")
		if len(shown) == 0 || slices.ContainsFunc(shown, func(title string) bool { return title != "drainit:run" }) {
			t.Errorf("the titles are %q while /proc is read", shown)
		}
		b.w.endAll()
	})
}

// A CONT that comes with a stop signal does not un-quiet a worker that is stopping.
func TestStopOvertakesResume(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", on{unix.SIGTSTP: stays, unix.SIGTERM: exits(0, time.Second)})), func(b *bubble) {
		b.other(unix.SIGTSTP)
		b.other(unix.SIGCONT)
		b.after(49 * time.Millisecond)
		b.stop(unix.SIGTERM)
		b.wantEnd(0, 1049*time.Millisecond)
		b.wantSent("0s TSTP node; 49ms TERM node")
	})
}

// Each way down from the worker is quieted at the first process that handles TSTP, and
// none is stopped.
func TestQuietGoesToThoseThatHandleIt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    func(*Config)
		worker *process
		sent   string
		line   string
	}{
		{"the worker", nil, newProcess("node", quietly(), newProcess("job", quietly())), "0s TSTP node", "quiet: SIGTSTP to node["},
		{"below the worker", nil, newProcess("sh", nil, newProcess("a", quietly()), newProcess("b", nil, newProcess("c", quietly())), newProcess("d", nil)),
			"0s TSTP a; 0s TSTP c", "quiet: SIGTSTP to a["},
		{"none", nil, newProcess("node", slow, newProcess("job", slow)), "", "warning: quiet has no effect: node[4194305] has no SIGTSTP handler and keeps taking work. If it uses another signal for this: --rewrite TSTP:SIG"},
		{"in every mode", func(c *Config) { c.Mode = forward.ModeWorker }, newProcess("sh", nil, newProcess("a", quietly())), "0s TSTP a", "quiet: SIGTSTP to a["},
		{"a rewrite", func(c *Config) { c.Rewrites = signals.Rewrites{unix.SIGTSTP: unix.SIGUSR1} },
			newProcess("sh", quietly(), newProcess("a", on{unix.SIGUSR1: stays})), "0s USR1 a", "quiet: SIGUSR1 to a["},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, configWith(tt.cfg), with(tt.worker), func(b *bubble) {
				b.other(unix.SIGTSTP)
				b.wantPhase(phase.Quiet)
				b.wantSent(tt.sent)
				b.wantLines(1, tt.line)
			})
		})
	}
}

// A second TSTP is for those that are new, and a resume for those that were quieted and
// have not ended.
func TestQuietTwice(t *testing.T) {
	first, second := newProcess("a", quietly()), newProcess("b", quietly())
	inBubble(t, config(), with(newProcess("sh", nil, first)), func(b *bubble) {
		b.other(unix.SIGTSTP)
		b.other(unix.SIGTSTP)
		b.wantLines(1, "quiet: no new process handles SIGTSTP")
		second.parent = b.w.worker
		b.w.start(second)
		b.after(time.Second)
		b.other(unix.SIGTSTP)
		b.wantSent("0s TSTP a; 1s TSTP b")
		first.exit(0)
		b.other(unix.SIGTSTP) // by which it is forgotten
		b.other(unix.SIGCONT)
		b.after(machine.ResumeAfter)
		b.wantSent("0s TSTP a; 1s TSTP b; 1.05s CONT b")
		b.wantLines(1, "running again: SIGCONT to b[")
	})
}

// Without a /proc to be read, none is sent TSTP, and none is forgotten.
func TestQuietWithoutProc(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", quietly())), func(b *bubble) {
		b.w.proc = procExhausted
		b.other(unix.SIGTSTP)
		b.wantPhase(phase.Quiet)
		b.wantSent("")
		b.wantLines(1, "warning: quiet has no effect: SIGTSTP was sent to no process, since which of them handle it is unknown: too many open files")
		b.w.proc = procThere
		b.other(unix.SIGTSTP)
		b.w.proc = procExhausted
		b.other(unix.SIGTSTP)
		b.w.proc = procThere
		b.other(unix.SIGTSTP)
		b.wantSent("0s TSTP node")
	})
}

// What stops by the TSTP that it was sent is continued at once: a worker whenever wait4
// says so, another process right behind the signal.
func TestQuietFreezesNothing(t *testing.T) {
	freezes := func(p *process) { p.stop(unix.SIGTSTP) }
	later := func(p *process) {
		time.AfterFunc(time.Second, func() { p.w.mu.Lock(); p.stop(unix.SIGTSTP); p.w.mu.Unlock() })
	}
	for _, tt := range []struct {
		name   string
		worker *process
		sent   string
	}{
		{"the worker", newProcess("node", on{unix.SIGTSTP: freezes}), "0s TSTP node; 0s CONT node"},
		{"the worker, later", newProcess("node", on{unix.SIGTSTP: later}), "0s TSTP node; 1s CONT node"},
		{"another", newProcess("sh", nil, newProcess("node", on{unix.SIGTSTP: freezes})), "0s TSTP node; 0s CONT node"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, config(), with(tt.worker), func(b *bubble) {
				b.other(unix.SIGTSTP)
				b.after(time.Second)
				b.wantSent(tt.sent)
				b.wantLines(1, "warning: node["+b.pid("node")+"] stopped itself on SIGTSTP instead of becoming quiet")
			})
		})
	}
}

// A stop that drainit has not caused is its user's business.
func TestOtherStopsAreNotUndone(t *testing.T) {
	for name, stop := range map[string]unix.Signal{"by STOP": unix.SIGSTOP, "by a TSTP from outside": unix.SIGTSTP} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(newProcess("node", slow)), func(b *bubble) {
				b.w.signal(b.w.worker, stop)
				b.after(time.Second)
				b.wantSent("")
				b.other(unix.SIGCONT)
				b.wantSent("1s CONT node")
			})
		})
	}
}

// A process that has become another program since the snapshot is not sent what would
// stop it; nor is one that has gone, or that can't be asked.
func TestQuietAsksOnceMore(t *testing.T) {
	for name, change := range map[string]func(*world){
		"another program": func(w *world) { w.worker.Handled = 0 },
		"another process": func(w *world) { w.worker.Start++ },
		"a zombie":        func(w *world) { w.worker.State = 'Z' },
		"not to be read":  func(w *world) { w.proc = procExhausted },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, config(), with(newProcess("node", quietly())), func(b *bubble) {
				read := 0
				b.w.onRead = func(int) {
					if read++; read == 2 { // the first is for the plan
						change(b.w)
					}
				}
				b.other(unix.SIGTSTP)
				b.wantSent("")
				b.wantLines(1, "quiet: no new process")
				b.w.worker.State = 'S'
			})
		})
	}
}

// A stop delay is quiet, too: unless TSTP is dropped.
func TestQuietInTheStopDelay(t *testing.T) {
	for name, rewrites := range map[string]signals.Rewrites{"quiet": nil, "dropped": {unix.SIGTSTP: signals.Drop}} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			cfg.StopDelay, cfg.Rewrites = time.Second, rewrites
			inBubble(t, cfg, with(newProcess("node", quietly())), func(b *bubble) {
				b.stop(unix.SIGTERM)
				b.wantEnd(0, time.Second)
				if rewrites == nil {
					b.wantSent("0s TSTP node; 1s TERM node")
					return
				}
				b.wantSent("1s TERM node")
				b.wantLines(0, "quiet")
				b.wantLines(0, "warning: quiet")
			})
		})
	}
}
