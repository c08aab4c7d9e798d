package supervisor

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/health"
	"drainit/internal/logx"
	"drainit/internal/machine"
	"drainit/internal/signals"
	"drainit/internal/term"
)

// info are the lines of the log but those for debugging, which all tests write.
func (b *bubble) info() (lines []string) {
	for _, line := range b.lines("") {
		word, _, _ := strings.Cut(line, " ")
		if word != "settings:" && word != "started" && word != "sent" && word != "dropped" && word != "not" {
			lines = append(lines, line)
		}
	}
	return lines
}

// age is how old a process is, in real time.
var age = regexp.MustCompile(`\(sleeping, .*\)$`)

// wantInfo compares all lines but those for debugging, without ages.
func (b *bubble) wantInfo(want ...string) {
	b.t.Helper()
	got := b.info()
	for i := range got {
		got[i] = age.ReplaceAllString(got[i], "(sleeping)")
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.t.Errorf("the log says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Why a process is not signalled is in the log with -v, once.
func TestLineOfWhatIsNotSignalled(t *testing.T) {
	daemon := newProcess("daemon", quick)
	inBubble(t, config(), func(w *world) { w.worker = newProcess("node", never); w.start(daemon) }, func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.after(20 * time.Second) // four snapshots
		b.wantLines(1, "not signalled: "+daemon.String()+": it was there before the stop, and the work goes on")
	})
}

// stopping begins the first line of a stop.
const stopping = "stopping: SIGTERM sent to node[4194305]; "

// What the log says of a whole life, from the stop on.
func TestLinesOfAStop(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    func(*Config)
		worker *process
		want   []string
	}{
		{"it exits", nil, newProcess("node", slow),
			[]string{stopping + "what still runs after 30s is killed", "stopped after 2.0s: node[4194305] exited with status 0"}},
		{"it takes longer", func(c *Config) { c.Grace = machine.Forever }, newProcess("node", on{unix.SIGTERM: exits(1, 12*time.Second)}),
			[]string{stopping + "no SIGKILL: the grace period is infinite",
				"draining, 1 process left (node[4194305]), no SIGKILL: the grace period is infinite",
				"draining, 1 process left (node[4194305]), no SIGKILL: the grace period is infinite",
				"stopped after 12s: node[4194305] exited with status 1"}},
		{"a grace of 0", func(c *Config) { c.Grace = 0 }, newProcess("node", slow),
			[]string{"warning: grace period of 0s over: killing node[4194305] (sleeping)", "stopped after 0.0s: killed node[4194305] (grace period of 0s over); exit status 137"}},
		{"it outlives SIGKILL", func(c *Config) { c.Grace = time.Second }, undying("node"),
			[]string{stopping + "what still runs after 1s is killed", "warning: grace period of 1s over: killing node[4194305] (sleeping)",
				"error: leaving 5s after SIGKILL, still alive: node[4194305] (sleeping)", "stopped after 6.0s; exit status 137"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, configWith(tt.cfg), with(tt.worker), func(b *bubble) {
				b.stop(unix.SIGTERM)
				b.end()
				b.wantInfo(tt.want...)
			})
		})
	}
}

// A worker that exits by itself and leaves nothing is not worth a line.
func TestNoLineOfAnExit(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil)), func(b *bubble) {
		b.w.worker.exit(4)
		b.end()
		b.wantInfo()
		b.wantMessage("")
	})
}

func TestLinesOfAnExit(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil, newProcess("a", slow), newProcess("b", slow))), func(b *bubble) {
		b.w.worker.exit(4)
		b.end()
		b.wantInfo("warning: node[4194305] exited with status 4 and left 2 processes (a[4194306], b[4194307]), SIGKILL in 30s",
			"stopped 2.0s after node[4194305] exited with status 4")
	})
}

// What drainit has not sent differs from a stop in the log, and in the termination message.
func TestKilledFromOutside(t *testing.T) {
	for sig, why := range map[unix.Signal]string{unix.SIGKILL: "out of memory, or a kill from outside", unix.SIGSEGV: "it came from the worker itself, or from outside"} {
		inBubble(t, config(), with(newProcess("node", nil)), func(b *bubble) {
			b.w.worker.dies(sig)
			b.wantEnd(128+int(sig), 0)
			message := "node[4194305] was killed by " + signals.Name(sig) + ", which drainit did not send: " + why
			b.wantInfo("warning: " + message)
			b.wantMessage(message)
		})
	}
}

func (b *bubble) wantMessage(want string) {
	b.t.Helper()
	if got := b.s.journal.Message; got != want {
		b.t.Errorf("the termination message is %q, want %q", got, want)
	}
}

// The termination message of a kill says why, what and when.
func TestTerminationMessageOfAKill(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", quick, newProcess("job", never))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.end()
		b.wantMessage("stopped after 30s: node[4194305] exited with status 0; killed job[4194306] (grace period of 30s over); exit status 137")
	})
	inBubble(t, config(), with(newProcess("node", nil, newProcess("job", never))), func(b *bubble) {
		b.w.worker.exit(1)
		b.end()
		b.wantMessage("stopped 30s after node[4194305] exited with status 1; killed job[4194306] (grace period of 30s over)")
	})
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		b.w.proc = procExhausted
		b.stop(unix.SIGTERM)
		b.after(2 * time.Second)
		b.stop(unix.SIGTERM)
		b.end()
		b.wantMessage("stopped after 2.0s: node[4194305] died of SIGKILL; killed what was left (second stop signal, force-stop); exit status 137")
	})
}

// What outlives SIGKILL was not killed, which the message must not say.
func TestNoTerminationMessageOfAKillThatFailed(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", quick, undying("job"))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantEnd(137, 35*time.Second)
		b.wantMessage("")
		b.wantLines(1, "error: leaving 5s after SIGKILL, still alive: job[4194306]")
	})
	inBubble(t, config(), with(undying("node")), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.after(time.Minute - 26*time.Second)
		b.w.proc = procGone
		b.wantEnd(137, 35*time.Second)
		b.wantLines(1, "error: leaving 5s after SIGKILL, still alive: what is left")
	})
}

// The message is written to an empty file; a file that was asked for and can't be written
// is warned of, the default one is not.
func TestWriteMessage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "message")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, warnings := range map[string]int{file: 0, filepath.Join(dir, "none"): 1, dir: 1, logx.DefaultTerminationLog: 0, "": 0} {
		if _, err := os.Stat(name); name == logx.DefaultTerminationLog && err == nil {
			continue // this runs in a pod
		}
		cfg := config()
		cfg.TerminationLog = name
		inBubble(t, cfg, with(newProcess("node", nil)), func(b *bubble) {
			b.s.journal.NotStarted("the reason")
			b.s.journal.WriteMessage(cfg.TerminationLog)
			b.settle()
			b.wantLines(warnings, "warning: cannot write the termination message to "+name+": ")
			b.wantLines(warnings, "warning")
		})
	}
	if text, err := os.ReadFile(file); string(text) != "the reason" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

// -w has a line for each orphan that is reaped, and for no worker.
func TestReapedOrphansAreLogged(t *testing.T) {
	for _, warn := range []bool{true, false} {
		cfg := config()
		cfg.WarnReaped = warn
		inBubble(t, cfg, func(w *world) { w.start(newProcess("child", nil)) }, func(b *bubble) {
			b.w.procs[0].dies(unix.SIGTERM)
			b.settle()
			lines := map[bool]int{true: 1}[warn]
			b.wantLines(lines, "warning: reaped orphan 4194305, exit status 143")
			b.stop(unix.SIGTERM)
			b.end()
			b.wantLines(lines, "warning: reaped")
		})
	}
}

// The settings that differ from the default are in one line for debugging.
func TestSettings(t *testing.T) {
	at, err := health.ParseAddress("127.0.0.1:8080")
	if err != nil {
		t.Fatal(err)
	}
	inBubble(t, config(), with(newProcess("node", quick)), func(b *bubble) {
		b.wantLines(1, "settings: --termination-log=; pid ")
	})
	cfg := Config{
		Command: []string{"node"}, Grace: machine.Forever, StopDelay: time.Second, StopSignals: []unix.Signal{unix.SIGQUIT},
		Rewrites: signals.Rewrites{unix.SIGHUP: signals.Drop}, Mode: forward.ModeGroup, Forking: true, SecondStopIgnored: true, RemapExit: []int{143},
		ParentDeathSignal: unix.SIGTERM, WarnReaped: true, HealthAddr: at, TerminationLog: "/x",
	}
	inBubble(t, cfg, with(newProcess("node", quick)), func(b *bubble) {
		b.wantLines(1, "settings: --grace infinity --stop-delay 1s --second-stop ignore --stop-signal SIGQUIT --rewrite SIGHUP:0 --forward group --forking --remap-exit 143 "+
			"--parent-death-signal SIGTERM --warn-reaped --health-addr 127.0.0.1:8080 --termination-log=/x; pid ")
	})
}

// Each delivery to which a rule led is a line for debugging, with the rule.
func TestLinesOfDeliveries(t *testing.T) {
	inBubble(t, config(), with(newProcess("sh", nil, newProcess("node", on{unix.SIGTERM: exits(0, time.Second), unix.SIGHUP: stays}))), func(b *bubble) {
		b.other(unix.SIGHUP)
		b.stop(unix.SIGTERM)
		b.end()
		b.wantLines(1, "sent SIGHUP to node[4194306]: the first that handles it")
		b.wantLines(1, "sent SIGTERM to sh[4194305]: the worker")
		b.wantLines(1, "sent SIGTERM to node[4194306]: its parent sh[4194305] had no handler and died of it")
		b.wantLines(3, "sent ")
	})
	inBubble(t, inMode(forward.ModeGroup), with(newProcess("sh", nil, newProcess("node", slow))), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.wantLines(1, "sent SIGTERM to sh[4194305]: of the worker's process group")
		b.wantLines(1, "sent SIGTERM to node[4194306]: of the worker's process group")
	})
}

// A worker without a handler is warned of when it has died.
func TestNoHandlerIsWarnedOf(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", nil)), func(b *bubble) {
		b.stop(unix.SIGTERM)
		b.end()
		b.wantLines(1, "warning: node[4194305] has no SIGTERM handler: it died at once and lost its work in flight. Add a handler")
	})
}

// A worker's name is the one that it bears at last.
func TestNameOfTheWorker(t *testing.T) {
	inBubble(t, Config{Command: []string{"/usr/bin/entrypoint"}, Grace: time.Second}, with(newProcess("node", slow)), func(b *bubble) {
		b.wantLines(1, "started entrypoint[4194305]")
		b.stop(unix.SIGTERM)
		b.end()
		b.wantLines(1, "warning: grace period of 1s over: killing node[4194305]")
		b.wantLines(1, "stopped after 1.0s: killed node[4194305] (grace period of 1s over); exit status 137")
	})
}

// onATerminal gives the supervisor a terminal that is gone: descriptor 0, which is none.
func onATerminal(b *bubble) {
	if _, err := unix.IoctlGetInt(0, unix.TIOCGPGRP); err == nil {
		b.t.Skip("descriptor 0 is a terminal")
	}
	b.s.job = term.NewJob(new(term.Terminal), b.w.queue, b.s)
}

// A HUP of a terminal that is gone is the first stop signal, and no second one.
func TestHangup(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", on{unix.SIGTERM: stays, unix.SIGHUP: stays})), func(b *bubble) {
		onATerminal(b)
		b.other(unix.SIGHUP)
		b.wantLines(1, "the terminal is gone: SIGHUP counts as SIGTERM")
		b.after(time.Second)
		b.other(unix.SIGHUP)
		b.after(time.Second)
		b.wantSent("0s TERM node")
		b.wantLines(1, "stopping")
	})
}

// With all stop signals dropped, a HUP is any other signal.
func TestHangupWithoutStopSignals(t *testing.T) {
	cfg := config()
	cfg.Rewrites = signals.Rewrites{unix.SIGTERM: signals.Drop, unix.SIGINT: signals.Drop}
	inBubble(t, cfg, with(newProcess("node", on{unix.SIGHUP: stays})), func(b *bubble) {
		onATerminal(b)
		b.other(unix.SIGHUP)
		b.wantSent("0s HUP node")
	})
}

// Ctrl-C is known to a person at a terminal, to which the line speaks; a death by it needs
// no explanation, and what a worker leaves differs from a daemon by drainit's own session.
func TestLinesForAPerson(t *testing.T) {
	inBubble(t, config(), with(newProcess("node", on{unix.SIGINT: stays})), func(b *bubble) {
		onATerminal(b)
		b.stop(unix.SIGINT)
		b.wantLines(1, "stopping: SIGINT sent to node[4194305]; what still runs after 30s is killed, Ctrl-C again kills at once")
		b.w.worker.dies(unix.SIGINT)
		b.end()
		b.wantLines(0, "warning")
	})
	inBubble(t, config(), with(newProcess("node", never)), func(b *bubble) {
		onATerminal(b)
		b.stop(unix.SIGTERM)
		b.wantLines(1, stopping+"what still runs after 30s is killed")
	})
	session, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	for sid, hint := range map[int]bool{session: false, firstPID: true} {
		job := newProcess("job", quick)
		inBubble(t, config(), with(newProcess("node", nil, job)), func(b *bubble) {
			onATerminal(b)
			job.SID = sid
			b.w.worker.exit(0)
			b.settle()
			if got := strings.Contains(strings.Join(b.lines("warning: node[4194305] exited"), ""), "--forking"); got != hint {
				t.Errorf("a hint: %v, in %v", got, b.lines(""))
			}
		})
	}
}

// A job's group is continued as a whole: by a CONT that is forwarded, and after a stop
// signal.
func TestStoppedJob(t *testing.T) {
	job := func() *process { return newProcess("sh", never, stopped(newProcess("node", never))) }
	inBubble(t, config(), with(job()), func(b *bubble) {
		onATerminal(b)
		b.s.job.Started(b.w.worker.PID)
		b.stop(unix.SIGTERM)
		b.wantSent("0s TERM sh; 0s CONT sh node")
	})
	inBubble(t, config(), with(job()), func(b *bubble) {
		onATerminal(b)
		b.s.job.Started(b.w.worker.PID)
		b.other(unix.SIGCONT)
		b.wantSent("0s CONT sh node")
		b.other(unix.SIGCONT) // which is then for the worker: nothing is stopped
		b.wantSent("0s CONT sh node; 0s CONT sh")
	})
}
