package inspect

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestVerbsTellTheWorkerEachSignalOnce(t *testing.T) {
	askedOfTree(t, "a[TSTP,CONT,TERM=7]", "a", func(t *testing.T, c *harness.Container) {
		c.Ask("quiet").WantSilent()
		c.WantTitle("drainit:quiet") // it waits for that
		c.WaitOut(`^a got TSTP`)
		c.Ask("resume").WantSilent()
		c.WaitTitle("drainit:run")
		c.WaitOut(`^a got CONT`)
		c.Ask("stop").WantDone(c.Pid1)
		c.WantExit(7)
		c.WantGots("a got TSTP", "a got CONT", "a got TERM")
	})
}

// A quiet that no process heeds is a quiet all the same, so that a preStop hook goes on; but
// what asked is answered so, and programs are, too.
func TestQuietWithoutEffectIsSaid(t *testing.T) {
	askedOfTree(t, "a[TERM=7]", "a", func(t *testing.T, c *harness.Container) {
		c.Ask("quiet").Want(0, "", `quiet has no effect: no process handles SIGTSTP`)
		c.WantTitle("drainit:quiet?")
		if s := parsed(c.Ask("status", "--json")); s.Phase != "quiet" || s.QuietHandled == nil || *s.QuietHandled {
			t.Errorf("%+v", s)
		}
		c.Ask("resume").WantSilent()
		c.WaitTitle("drainit:run")
		c.Ask("stop").WantDone(c.Pid1)
		c.WantExit(7)
	})
}

func TestQuietOfAQuietDrainitSucceeds(t *testing.T) {
	askedOfTree(t, "a[TSTP,TERM=7]", "a", func(t *testing.T, c *harness.Container) {
		for range 3 {
			c.Ask("quiet").WantSilent()
		}
		c.WantTitle("drainit:quiet")
		c.WaitOut(`^a got TSTP`)
		c.Ask("stop").WantDone(c.Pid1)
		c.WantExit(7)
		c.WantGots("a got TSTP", "a got TERM")
	})
}

// A CONT that changes no phase is the worker's own.
func TestResumeOfARunningDrainitSucceeds(t *testing.T) {
	askedOfTree(t, "a[CONT,TERM=7]", "a", func(t *testing.T, c *harness.Container) {
		c.Ask("resume").WantSilent()
		c.WaitOut(`^a got CONT`)
		c.Send(unix.SIGTERM)
		c.WantExit(7)
	})
}

func TestQuietSleepsAsLongAsItIsTold(t *testing.T) {
	for _, args := range [][]string{{"--sleep=1s"}, {"--sleep", "1"}, {"--sleep", "1000ms"}} {
		t.Run(args[len(args)-1], func(t *testing.T) {
			harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
				c := run(harness.Launch{Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP"}})
				c.WaitReady()
				began := time.Now()
				c.Ask(append([]string{"quiet"}, args...)...).WantSilent()
				harness.WantTookAtLeast(t, began, time.Second)
				c.WantTitle("drainit:quiet")
			})
		})
	}
}

// The sleep is longer than the tests' patience: one that goes on is never seen to end.
// As PID 1 drainit takes what asked with it.
func TestQuietSleepEndsWithDrainit(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		// It drains for long enough to be seen to: else there is nothing to wait for.
		c := run(harness.Launch{Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP", "-drain", "1s", "-exit", "7"}})
		c.WaitReady()
		end := make(chan harness.Answer)
		go func() { end <- c.Ask("quiet", "--sleep=10m") }()
		c.WaitOut(`^got SIGTSTP`)
		c.Send(unix.SIGTERM)
		c.WantExit(7)
		(<-end).WantDone(c.Pid1)
	})
}

// A preStop hook that comes when the stop has begun must not fail: the kubelet
// makes an event of that. Nor must a TSTP or a second stop signal follow.
func TestVerbsOnceTheStopHasBegunSendNothing(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT", "-drain", "1h"}})
		c.WaitOut(`^ready`)
		c.Send(unix.SIGTERM)
		c.WaitOut(`^got SIGTERM`)
		wantNothingMoreToDo(c, `^draining: drainit\[\d+\], `+stopPart+`1 process below it\n`)
	})
}

func TestVerbsOnceTheWorkerHasEndedSendNothing(t *testing.T) {
	workerEnded(t, func(t *testing.T, c *harness.Container) {
		wantNothingMoreToDo(c, `^draining: drainit\[\d+\], the worker has ended, `+stopPart+`1 process below it\n`)
	})
}

func wantNothingMoreToDo(c *harness.Container, status string) {
	c.T.Helper()
	c.WantNothingSent(func() {
		c.Ask("quiet").Want(0, "", `\Adrainit: .*drain.*\n\z`)
		c.Ask("quiet", "--sleep=10m").Want(0, "", `\Adrainit: .*drain.*\n\z`)
		c.Ask("resume").Want(1, "", `\Adrainit: .*drain.*\n\z`)
		c.Ask("stop").Want(0, `\A`+status, `\Adrainit: .*stop --force.*\n\z`)
		c.Ask("status").Want(c.Ask("status", "--json").Status, status, "")
	})
}

func TestStopDoesNotWait(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-drain", "1h"}})
		c.WaitReady()
		c.Ask("stop").WantDone(c.Pid1)
		c.WaitOut(`^got SIGTERM`)
	})
}

// A person's nervous finger, or two operators: never a force-stop.
func TestManyStopsAtOnceDrain(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,USR1", "-end", "USR1", "-exit", "7"}})
		c.WaitReady()
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
		c.Send(unix.SIGUSR1) // not before: the end of PID 1 ends what asks
		c.WantExit(7)
		c.WantCount("got SIGTERM", 1)
		c.WantLogged(`force-stop:`, 0)
	})
}

// From any phase, a grace of ten minutes, and a worker that heeds no signal.
func TestForcedStopKillsEverything(t *testing.T) {
	harness.Need(t, "perl")
	for _, tt := range []struct {
		name   string
		flags  []string
		enter  func(c *harness.Container)
		status int
	}{
		{"running", nil, func(*harness.Container) {}, 137},
		{"running, with a stop delay", []string{"--stop-delay=5m"}, func(*harness.Container) {}, 137},
		{"running, stopped by another signal too", []string{"--stop-signal=QUIT"}, func(*harness.Container) {}, 137},
		{"quiet", nil, func(c *harness.Container) { c.Send(unix.SIGTSTP); c.WaitTitle("drainit:quiet?") }, 137},
		{"draining", nil, func(c *harness.Container) { c.Send(unix.SIGTERM); c.WaitTitle("drainit:drain") }, 137},
		{"the worker has ended", nil, func(c *harness.Container) {
			worker := c.ReadyPid(`^worker`)
			harness.Kill(c.T, worker, unix.SIGUSR1)
			c.WaitTitle("drainit:ended")
		}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
				c := run(harness.Launch{Args: harness.Line(append([]string{harness.LongGrace}, tt.flags...), harness.Script(`
					$SIG{TERM} = "IGNORE"; $SIG{USR1} = sub { exit 5 };
					spawn { $SIG{USR1} = "IGNORE"; setpgrp; spawn { POSIX::setsid(); say "ready"; forever }; forever };
					say "worker $$"; forever`)...)})
				c.WaitOut(`^ready`)
				c.WaitOut(`^worker`)
				c.WaitTitle("drainit:run")
				tt.enter(c)
				c.Ask("stop", "--force").WantDone(c.Pid1)
				c.WantExit(tt.status)
				c.WantLogged(`second stop signal, force-stop: killing`, 1)
				c.WantNothingLeft()
			})
		})
	}
}

func TestForcedStopOfAKillSucceedsAtOnce(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	c := harness.NewPod(t).Run(harness.NewCgroup(t), harness.Launch{Args: killedAtOnce()})
	release := killing(c.Init, c.Drainit)
	c.Ask("stop", "--force").WantSilent()
	release()
	c.WantExit(137)
}

// A drainit that can't act must not leave a probe or a hook hanging.
func TestVerbsToAStoppedDrainitGiveUp(t *testing.T) {
	for name, args := range map[string][]string{
		"quiet":        {"quiet"},
		"quiet, sleep": {"quiet", "--sleep=10m"},
		"stop":         {"stop", "--force"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
				c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TSTP,TERM"}})
				c.WaitReady()
				harness.Freeze(t, c.Drainit)
				c.Ask(args...).Want(1, "", `\Adrainit: .*drainit\[\d+\].*stopped.*\n\z`)
				c.Send(unix.SIGCONT)
			})
		})
	}
}

// A rewrite may leave a verb's signal without its meaning.
func TestVerbsWhoseSignalIsDroppedGiveUp(t *testing.T) {
	harness.Full(t)
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--rewrite=TSTP:0", "--rewrite=TERM:0", "--", harness.WorkerBin, "listen"}})
		c.WaitReady()
		c.Ask("quiet").Want(1, "", `\Adrainit: .*--rewrite.*\n\z`)
		c.Ask("stop", "--force").Want(1, "", `\Adrainit: .*--rewrite.*\n\z`)
		c.WantTitle("drainit:run")
	})
}

// It drains in time, and then is gone: what a preStop hook and the kubelet's
// TERM do, with the specification's times scaled down.
func TestQuietThenTermIsTheWholeShutdown(t *testing.T) {
	harness.Need(t, "perl")
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: harness.Line([]string{"--grace=20s"}, tree("a[TSTP,TERM=0]")...)})
		c.WaitOut(`^ready a`)
		c.WaitTitle("drainit:run")
		c.Ask("status", "--ready").Want(0, `^running`, "")
		c.Ask("quiet", "--sleep=200ms").WantSilent()
		c.WaitOut(`^a got TSTP`)
		c.Ask("status", "--ready").Want(1, `^quiet`, "")
		c.Ask("status").Want(0, `^quiet`, "")
		c.Send(unix.SIGTERM)
		c.WantExit(0)
		c.WantGots("a got TSTP", "a got TERM")
	})
}
