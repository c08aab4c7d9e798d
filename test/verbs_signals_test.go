package test

import (
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestVerbsTellTheWorkerEachSignalOnce(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: line([]string{longGrace}, tree("a[TSTP,CONT,TERM=7]")...)})
		c.waitOut(`^ready a`)
		c.waitTitle("drainit:run")
		c.ask("quiet").wantSilent()
		c.wantTitle("drainit:quiet") // it waits for that
		c.waitOut(`^a got TSTP`)
		c.ask("resume").wantSilent()
		c.waitTitle("drainit:run")
		c.waitOut(`^a got CONT`)
		c.ask("stop").wantDone(c.pid1)
		c.wantExit(7)
		c.wantGots("a got TSTP", "a got CONT", "a got TERM")
	})
}

// A quiet that no process heeds is a quiet all the same, so that a preStop hook goes on; but
// what asked is answered so, and programs are, too.
func TestQuietWithoutEffectIsSaid(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: line([]string{longGrace}, tree("a[TERM=7]")...)})
		c.waitOut(`^ready a`)
		c.waitTitle("drainit:run")
		c.ask("quiet").want(0, "", `quiet has no effect: no process handles SIGTSTP`)
		c.wantTitle("drainit:quiet?")
		if s := c.ask("status", "--json").parsed(); s.Phase != "quiet" || s.QuietHandled == nil || *s.QuietHandled {
			t.Errorf("%+v", s)
		}
		c.ask("resume").wantSilent()
		c.waitTitle("drainit:run")
		c.ask("stop").wantDone(c.pid1)
		c.wantExit(7)
	})
}

func TestQuietOfAQuietDrainitSucceeds(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: line([]string{longGrace}, tree("a[TSTP,TERM=7]")...)})
		c.waitOut(`^ready a`)
		c.waitTitle("drainit:run")
		for range 3 {
			c.ask("quiet").wantSilent()
		}
		c.wantTitle("drainit:quiet")
		c.waitOut(`^a got TSTP`)
		c.ask("stop").wantDone(c.pid1)
		c.wantExit(7)
		c.wantGots("a got TSTP", "a got TERM")
	})
}

// A CONT that changes no phase is the worker's own.
func TestResumeOfARunningDrainitSucceeds(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: line([]string{longGrace}, tree("a[CONT,TERM=7]")...)})
		c.waitOut(`^ready a`)
		c.waitTitle("drainit:run")
		c.ask("resume").wantSilent()
		c.waitOut(`^a got CONT`)
		c.send(unix.SIGTERM)
		c.wantExit(7)
	})
}

func TestQuietSleepsAsLongAsItIsTold(t *testing.T) {
	for _, args := range [][]string{{"--sleep=1s"}, {"--sleep", "1"}, {"--sleep", "1000ms"}} {
		t.Run(args[len(args)-1], func(t *testing.T) {
			asked(t, func(t *testing.T, run func(Launch) *Container) {
				c := run(Launch{Args: []string{"--", workerBin, "listen", "-catch", "TERM,TSTP"}})
				c.waitOut(`^ready`)
				c.waitTitle("drainit:run")
				began := time.Now()
				c.ask(append([]string{"quiet"}, args...)...).wantSilent()
				wantTook(t, began, time.Second, atOnce)
				c.wantTitle("drainit:quiet")
			})
		})
	}
}

// The sleep is twice the tests' patience: one that goes on is never seen to end.
// As PID 1 drainit takes what asked with it.
func TestQuietSleepEndsWithDrainit(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		// It drains for long enough to be seen to: else there is nothing to wait for.
		c := run(Launch{Args: []string{"--", workerBin, "listen", "-catch", "TERM,TSTP", "-drain", "1s", "-exit", "7"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		end := make(chan answer)
		go func() { end <- c.ask("quiet", "--sleep=60s") }()
		c.waitOut(`^got SIGTSTP`)
		c.send(unix.SIGTERM)
		c.wantExit(7)
		(<-end).wantDone(c.pid1)
	})
}

// A preStop hook that comes when the stop has begun must not fail: the kubelet
// makes an event of that. Nor must a TSTP or a second stop signal follow.
func TestVerbsOnceTheStopHasBegunSendNothing(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT", "-drain", "1h"}})
		c.waitOut(`^ready`)
		c.send(unix.SIGTERM)
		c.waitOut(`^got SIGTERM`)
		wantNothingMoreToDo(c, `^draining: drainit\[\d+\], `+stopPart+`1 process below it\n`)
	})
}

func TestVerbsOnceTheWorkerHasEndedSendNothing(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: workerThatLeaves()})
		c.waitOut(`^child got TERM`)
		c.waitTitle("drainit:ended")
		wantNothingMoreToDo(c, `^draining: drainit\[\d+\], the worker has ended, `+stopPart+`1 process below it\n`)
	})
}

func wantNothingMoreToDo(c *Container, status string) {
	c.t.Helper()
	began := time.Now()
	c.wantNothingSent(func() {
		c.ask("quiet").want(0, "", `\Adrainit: .*drain.*\n\z`)
		c.ask("quiet", "--sleep=60s").want(0, "", `\Adrainit: .*drain.*\n\z`)
		c.ask("resume").want(1, "", `\Adrainit: .*drain.*\n\z`)
		c.ask("stop").want(0, `\A`+status, `\Adrainit: .*stop --force.*\n\z`)
		c.ask("status").want(c.ask("status", "--json").status, status, "")
	})
	wantTook(c.t, began, 0, patience)
}

func TestStopDoesNotWait(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-drain", "1h"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		c.ask("stop").wantDone(c.pid1)
		c.waitOut(`^got SIGTERM`)
	})
}

// A person's nervous finger, or two operators: never a force-stop.
func TestManyStopsAtOnceDrain(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,USR1", "-end", "USR1", "-exit", "7"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if a := c.ask("stop"); a.status != 0 {
					t.Errorf("exit status %d: %s", a.status, a.err)
				}
			})
		}
		all.Wait()
		c.waitOut(`^got SIGTERM`)
		c.send(unix.SIGUSR1) // not before: the end of PID 1 ends what asks
		c.wantExit(7)
		c.wantCount("got SIGTERM", 1)
		c.wantLogged(`force-stop:`, 0)
	})
}

// From any phase, a grace of ten minutes, and a worker that heeds no signal.
func TestForcedStopKillsEverything(t *testing.T) {
	need(t, "perl")
	for _, tt := range []struct {
		name   string
		flags  []string
		enter  func(c *Container)
		status int
	}{
		{"running", nil, func(*Container) {}, 137},
		{"running, with a stop delay", []string{"--stop-delay=1m"}, func(*Container) {}, 137},
		{"running, stopped by another signal too", []string{"--stop-signal=QUIT"}, func(*Container) {}, 137},
		{"quiet", nil, func(c *Container) { c.send(unix.SIGTSTP); c.waitTitle("drainit:quiet?") }, 137},
		{"draining", nil, func(c *Container) { c.send(unix.SIGTERM); c.waitTitle("drainit:drain") }, 137},
		{"the worker has ended", nil, func(c *Container) {
			worker := c.readyPid(`^worker`)
			if err := unix.Kill(worker, unix.SIGUSR1); err != nil {
				c.t.Fatal(err)
			}
			c.waitTitle("drainit:ended")
		}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked(t, func(t *testing.T, run func(Launch) *Container) {
				c := run(Launch{Args: line(append([]string{longGrace}, tt.flags...), script(`
					$SIG{TERM} = "IGNORE"; $SIG{USR1} = sub { exit 5 };
					spawn { $SIG{USR1} = "IGNORE"; setpgrp; spawn { POSIX::setsid(); say "ready"; forever }; forever };
					say "worker $$"; forever`)...)})
				c.waitOut(`^ready`)
				c.waitOut(`^worker`)
				c.waitTitle("drainit:run")
				tt.enter(c)
				began := time.Now()
				c.ask("stop", "--force").wantDone(c.pid1)
				c.wantExit(tt.status)
				wantTook(t, began, 0, atOnce)
				c.wantLogged(`second stop signal, force-stop: killing`, 1)
				c.wantNothingLeft()
			})
		})
	}
}

func TestForcedStopOfAKillSucceedsAtOnce(t *testing.T) {
	t.Parallel()
	needAsk(t)
	c := newPod(t).run(newCgroup(t), Launch{Args: killedAtOnce()})
	release := killing(c.Init, c.drainit)
	c.ask("stop", "--force").wantSilent()
	release()
	c.wantExit(137)
}

// A drainit that can't act must not leave a probe or a hook hanging.
func TestVerbsToAStoppedDrainitGiveUp(t *testing.T) {
	for name, args := range map[string][]string{
		"quiet":        {"quiet"},
		"quiet, sleep": {"quiet", "--sleep=60s"},
		"stop":         {"stop", "--force"},
	} {
		t.Run(name, func(t *testing.T) {
			asked(t, func(t *testing.T, run func(Launch) *Container) {
				c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TSTP,TERM"}})
				c.waitOut(`^ready`)
				c.waitTitle("drainit:run")
				freeze(t, c.drainit)
				began := time.Now()
				c.ask(args...).want(1, "", `\Adrainit: .*drainit\[\d+\].*stopped.*\n\z`)
				wantTook(t, began, 0, atOnce)
				c.send(unix.SIGCONT)
			})
		})
	}
}

// A rewrite may leave a verb's signal without its meaning.
func TestVerbsWhoseSignalIsDroppedGiveUp(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--rewrite=TSTP:0", "--rewrite=TERM:0", "--", workerBin, "listen"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		c.ask("quiet").want(1, "", `\Adrainit: .*--rewrite.*\n\z`)
		c.ask("stop", "--force").want(1, "", `\Adrainit: .*--rewrite.*\n\z`)
		c.wantTitle("drainit:run")
	})
}

// It drains in time, and then is gone: what a preStop hook and the kubelet's
// TERM do, with the specification's times scaled down.
func TestQuietThenTermIsTheWholeShutdown(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: line([]string{"--grace=20s"}, tree("a[TSTP,TERM=0]")...)})
		c.waitOut(`^ready a`)
		c.waitTitle("drainit:run")
		c.ask("status", "--ready").want(0, `^running`, "")
		c.ask("quiet", "--sleep=200ms").wantSilent()
		c.waitOut(`^a got TSTP`)
		c.ask("status", "--ready").want(1, `^quiet`, "")
		c.ask("status").want(0, `^quiet`, "")
		c.send(unix.SIGTERM)
		c.wantExit(0)
		c.wantGots("a got TSTP", "a got TERM")
	})
}
