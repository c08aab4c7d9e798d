package inspect

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A CONT that changes no phase is the worker's own. A quiet of what is quiet succeeds, and sends nothing
// more.
func TestVerbsSendTheWorkerEachSignalOnce(t *testing.T) {
	askedOfTree(t, "a[TSTP,CONT,TERM=7]", func(t *testing.T, c *container) {
		c.Ask("resume").WantSilent()
		c.WaitOut(`^a got CONT`)
		for range 2 {
			c.Ask("quiet", "--sleep=50ms").WantSilent()
			c.WantTitle("drainit:quiet") // it waits for that
		}
		c.Ask("resume").WantSilent()
		c.WaitTitle("drainit:run")
		c.Ask("status", "--ready").Want(0, `^running`, "")
		c.WaitOut(`^a got TSTP\na got CONT`) // a TSTP takes back a CONT that is pending still
		c.Ask("quiet", "--sleep=200ms").WantSilent()
		c.Ask("status", "--ready").Want(1, `^quiet`, "")
		c.Ask("stop").WantDone(c.pid1)
		c.WantExit(7)
		c.WantGots("a got CONT", "a got TSTP", "a got CONT", "a got TSTP", "a got TERM")
	})
}

// A quiet that no process heeds is a quiet all the same, so that a preStop hook goes on; but
// what asked is answered so, and programs are, too.
func TestQuietWithoutEffectIsSaid(t *testing.T) {
	askedOfTree(t, "a[TERM=7]", func(t *testing.T, c *container) {
		c.Ask("quiet").Want(0, "", `quiet has no effect: no process handles SIGTSTP`)
		c.WantTitle("drainit:quiet?")
		if s := parsed(c.Ask("status", "--json")); s.Phase != "quiet" ||
			s.QuietHandled == nil || *s.QuietHandled {
			t.Errorf("%+v", s)
		}
		c.Ask("resume").WantSilent()
		c.WaitTitle("drainit:run")
		c.Ask("stop").WantDone(c.pid1)
		c.WantExit(7)
	})
}

// A resume that no quieted process acts upon leaves it quiet, however often it is asked for: the worker
// takes no work.
func TestResumeWithoutEffectIsSaid(t *testing.T) {
	askedOfTree(t, "a[TSTP,TERM=7]", func(t *testing.T, c *container) {
		c.Ask("quiet").WantSilent()
		for n := range 3 {
			c.Ask("resume").
				Want(1, "",
					`\A\S+ still quiet: no process that was quieted handles SIGCONT.*--rewrite CONT:SIG; `+
						`else restart it\n\z`)
			c.Ask("status", "--ready").Want(1, `^quiet, and no CONT ends that\n`, "")
			c.WaitErr(fmt.Sprintf(`(?s)(warning: still quiet: tree\[\d+\] has no SIGCONT handler and `+
				`takes no work.*|"event":"still_quiet".*){%d}`, n+1))
		}
		c.Ask("quiet").WantSilent()
		c.Ask("status", "--ready").Want(1, `^quiet\n`, "")
		c.Ask("stop").WantDone(c.pid1)
		c.WantExit(7)
		c.WantGots("a got TSTP", "a got TERM")
	})
}

// A sleep that is longer than the tests' patience and goes on is never seen to end. As PID 1 drainit
// takes what asked with it.
func TestQuietSleepsAsLongAsItIsToldOrDrainitRuns(t *testing.T) {
	// It drains for long enough to be seen to: else there is nothing to wait for.
	asked(t, listening("-drain", "1s"), func(t *testing.T, c *container) {
		began := time.Now()
		c.Ask("quiet", "--sleep", "1").WantSilent()
		harness.WantTookAtLeast(t, began, time.Second)
		c.Ask("resume").WantSilent()
		end := make(chan harness.Answer)
		go func() { end <- c.Ask("quiet", "--sleep=10m") }()
		c.WaitOut(`(?s)got SIGTSTP.*got SIGTSTP`)
		c.Signal(unix.SIGTERM)
		c.WantExit(7)
		(<-end).WantDone(c.pid1)
	})
}

// A preStop hook that comes when the stop has begun must not fail: the kubelet
// makes an event of that. Nor must a TSTP or a second stop signal follow.
func TestVerbsOnceTheStopHasBegunSendNothing(t *testing.T) {
	asked(t, listening("-drain", "1h"), func(t *testing.T, c *container) {
		c.Ask("stop").WantSilent() // and does not wait
		c.WaitOut(`^got SIGTERM`)
		wantNothingMoreToDo(c, `^draining: drainit\[\d+\], `+stopPart+`1 process below it\n`)
	})
}

func wantNothingMoreToDo(c *container, status string) {
	c.T.Helper()
	harness.Freeze(c.T, c.Drainit) // so that what is sent can be seen
	c.Ask("quiet").Want(0, "", `\Adrainit: .*drain.*\n\z`)
	c.Ask("quiet", "--sleep=10m").Want(0, "", `\Adrainit: .*drain.*\n\z`)
	c.Ask("resume").Want(1, "", `\Adrainit: .*drain.*\n\z`)
	c.Ask("stop").Want(0, `\A`+status, `\Adrainit: .*stop --force.*\n\z`)
	if pending := harness.SignalMask(c.T, c.Drainit, "ShdPnd"); pending != 0 ||
		harness.StateOf(c.Drainit) != 'T' {
		c.T.Errorf("it was sent signals: pending %#x, state %c", pending, harness.StateOf(c.Drainit))
	}
	c.Signal(unix.SIGCONT)
}

// A person's nervous finger, or two operators: never a force-stop.
func TestManyStopsAtOnceDrain(t *testing.T) {
	asked(t, append([]string{harness.LongGrace}, harness.EndsByUSR1()...), func(t *testing.T, c *container) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if a := c.Ask("stop"); a.Status != 0 {
					t.Errorf("exit status %d: %s", a.Status, a.Err)
				}
			})
		}
		all.Wait()
		c.WaitOut(`^got SIGTERM`)
		c.Signal(unix.SIGUSR1) // not before: the end of PID 1 ends what asks
		c.WantExit(7)
		c.WantGots("got SIGTERM", "got SIGUSR1")
		c.WantLogged(`force-stop:`, 0)
	})
}

func TestStopWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		args   []string
		status int
	}{
		"a stop":       {[]string{"stop", "--wait"}, 7},
		"a forced one": {[]string{"stop", "--force", "--wait"}, 137},
	} {
		t.Run(name, func(t *testing.T) {
			drain := map[int]string{7: "700ms", 137: "1h"}[tt.status]
			asked(t, listening("-drain", drain), func(t *testing.T, c *container) {
				a := c.Ask(tt.args...)
				wantGone(c, a.Status)
				a.WantDone(c.pid1)
				c.WantExit(tt.status)
			})
		})
	}
}

// wantGone checks that a drainit has ended, for which a verb has waited. A PID 1 that ends takes the verb
// with it (status 137), and meanwhile sleeps (zap_pid_ns_processes, kernel/pid_namespace.c).
func wantGone(c *container, status int) {
	c.T.Helper()
	if state := harness.StateOf(c.Drainit); status != 137 && state != 0 && state != 'Z' {
		c.T.Errorf("drainit is in state %c", state)
	}
}

// A stop that has begun is waited for, too; what is left comes first. The worker drains until the verb
// has seen that.
func TestStopThatHasBegunIsWaitedFor(t *testing.T) {
	asked(t, append([]string{harness.LongGrace}, harness.EndsByUSR1()...), func(t *testing.T, c *container) {
		c.Signal(unix.SIGTERM)
		c.WaitTitle("drainit:drain")
		verb := c.begin("stop", "--wait")
		verb.WaitOut(`^draining: drainit\[`)
		c.Signal(unix.SIGUSR1)
		status := verb.Wait()
		wantGone(c, status)
		if ended := c.pid1 && status == 137; status != 0 && !ended || verb.Err() != "" {
			t.Errorf("exit status %d: %s", status, verb.Err())
		}
		c.WantExit(7)
	})
}

// stubborn heeds no signal but USR1, and has two processes below it that heed none.
const stubborn = `
$SIG{TERM} = "IGNORE"; $SIG{USR1} = sub { exit 5 };
spawn { $SIG{USR1} = "IGNORE"; setpgrp; spawn { POSIX::setsid(); say "ready"; forever }; forever };
say "worker $$"; forever`

// From any phase, with a grace of ten minutes.
func TestForcedStopKillsEverything(t *testing.T) {
	for name, tt := range map[string]struct {
		flag   string
		sends  unix.Signal
		title  string
		status int
	}{
		"running":             {"--stop-delay=5m", 0, "drainit:run", 137},
		"quiet":               {"--stop-delay=0", unix.SIGTSTP, "drainit:quiet?", 137},
		"draining":            {"--stop-delay=0", unix.SIGTERM, "drainit:drain", 137},
		"in a stop delay":     {"--stop-delay=5m", unix.SIGTERM, "drainit:drain", 137},
		"the worker has gone": {"--stop-delay=0", unix.SIGUSR1, "drainit:ended", 5},
	} {
		t.Run(name, func(t *testing.T) {
			asked(t, harness.Line([]string{harness.LongGrace, tt.flag}, harness.Script(stubborn)...),
				func(t *testing.T, c *container) {
					c.WaitOut(`^worker`)
					if tt.sends != 0 {
						c.Signal(tt.sends)
					}
					c.WaitTitle(tt.title)
					c.Ask("stop", "--force").WantDone(c.pid1)
					c.WantExit(tt.status)
					c.WantLogged(`RTMAX, drainit stop --force: killing`, 1)
					c.WantLogged(`reason.:.force`, 2)
					c.WantNothingLeft()
				})
		})
	}
}

// A drainit that can't act must not leave a probe or a hook hanging.
func TestVerbsToAStoppedDrainitGiveUp(t *testing.T) {
	asked(t, listening(), func(t *testing.T, c *container) {
		harness.Freeze(t, c.Drainit)
		inPhase{"running", false, 1}.check(t, c.Ask) // it does not answer, but /proc does
		for _, args := range [][]string{{"quiet", "--sleep=10m"}, {"stop", "--force"}} {
			c.Ask(args...).Want(1, "", `\Adrainit: .*drainit\[\d+\].*stopped.*\n\z`)
		}
		c.Signal(unix.SIGCONT)
	})
}

// A stop that comes while a quiet is waited for is all that a preStop hook can want.
func TestQuietEndsWithAStop(t *testing.T) {
	asked(t, append([]string{"-v", "--rewrite=TSTP:0"}, listening("-drain", "10m")...),
		func(t *testing.T, c *container) {
			var quiet sync.WaitGroup
			quiet.Go(func() { c.Ask("quiet").WantSilent() })
			c.WaitErr(`dropped SIGTSTP`)
			c.Signal(unix.SIGTERM)
			quiet.Wait()
			c.WantTitle("drainit:drain")
		})
}

// A rewrite may leave a verb's signal without its meaning: one that has its turn and does not act is not
// waited for for ever. The signal of a forced stop cannot be rewritten.
func TestVerbsWhoseSignalIsDroppedGiveUp(t *testing.T) {
	harness.Full(t)
	asked(t, append([]string{"--rewrite=TSTP:0", "--rewrite=TERM:0"}, listening()...),
		func(t *testing.T, c *container) {
			began := time.Now()
			c.Ask("quiet").
				Want(1, "", `is still running; is it rewritten \(--rewrite\), or the machine busy\?`)
			harness.WantTookAtLeast(t, began, 10*time.Second)
			c.WantTitle("drainit:run")
			c.Ask("stop", "--force").WantDone(c.pid1)
			c.WantExit(137)
		})
}
