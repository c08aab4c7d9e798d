package test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A machine may be so busy that drainit is late: who has ended in time has
// ended in time.
func TestWorkerThatEndedInTimeIsNotCalledKilledByALateDrainit(t *testing.T) {
	for _, late := range []struct {
		name string
		then unix.Signal
	}{{"for the end of the grace", unix.SIGCONT}, {"for a second stop signal", unix.SIGTERM}} {
		t.Run(late.name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				const grace, margin = 2 * time.Second, 100 * time.Millisecond
				p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--grace", grace.String(), "--",
					workerBin, "listen", "-catch", "TERM,USR1", "-end", "USR1"}})
				worker := ready(t, p)
				p.signal(unix.SIGTERM)
				p.waitOut("^got SIGTERM")
				signalled := time.Now() // the grace has begun before
				freeze(t, p.Pid())
				if err := unix.Kill(worker, unix.SIGUSR1); err != nil {
					t.Fatal(err)
				}
				waitUntil(t, "the worker has ended", func() bool { return stateOf(worker) == 'Z' })
				time.Sleep(time.Until(signalled.Add(grace + margin)))
				p.signal(late.then)
				p.signal(unix.SIGCONT)
				p.wantExit(0)
				p.wantLogged("killing", 0)
			})
		})
	}
}

// Which of the two came first the runtime does not always say; a worker that
// was resumed must not stay quiet.
func TestQuietAndResumeAtOnceEndRunning(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen", "-catch", "TSTP,CONT,TERM"}})
		p.waitOut("^ready")
		count := func(text string) int { return strings.Count(p.stderr.text(), text) }
		for range 100 {
			before := strings.Count(p.stdout.text(), "got SIGCONT")
			p.signal(unix.SIGTSTP)
			p.signal(unix.SIGCONT)
			waitUntil(t, "CONT for the worker", func() bool { return strings.Count(p.stdout.text(), "got SIGCONT") > before })
		}
		waitUntil(t, "a resume for each quiet", func() bool { return count(`"msg":"quiet`) == count(`"msg":"running again`) })
		p.signal(unix.SIGTERM)
		p.wantExit(0)
	})
}
