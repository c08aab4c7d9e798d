package signals

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A machine may be so busy that drainit is late: who has ended in time has
// ended in time.
func TestWorkerThatEndedInTimeIsNotCalledKilledByALateDrainit(t *testing.T) {
	for _, late := range []struct {
		name string
		then unix.Signal
	}{{"for the end of the grace", unix.SIGCONT}, {"for a second stop signal", unix.SIGTERM}} {
		t.Run(late.name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				const grace, margin = 2 * time.Second, 100 * time.Millisecond
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", grace.String(), "--",
					harness.WorkerBin, "listen", "-catch", "TERM,USR1", "-end", "USR1"}})
				worker := harness.Ready(t, p)
				p.Signal(unix.SIGTERM)
				p.WaitOut("^got SIGTERM")
				signalled := time.Now() // the grace has begun before
				harness.Freeze(t, p.Pid())
				harness.Kill(t, worker, unix.SIGUSR1)
				harness.WaitUntil(t, "the worker has ended", func() bool { return harness.StateOf(worker) == 'Z' })
				time.Sleep(time.Until(signalled.Add(grace + margin)))
				p.Signal(late.then)
				p.Signal(unix.SIGCONT)
				p.WantExit(0)
				p.WantLogged("killing", 0)
			})
		})
	}
}

// Which of the two came first the runtime does not always say; a worker that
// was resumed must not stay quiet.
func TestQuietAndResumeAtOnceEndRunning(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM"}})
		p.WaitOut("^ready")
		count := func(text string) int { return strings.Count(p.Stderr.Text(), text) }
		for range 100 {
			before := strings.Count(p.Stdout.Text(), "got SIGCONT")
			p.Signal(unix.SIGTSTP)
			p.Signal(unix.SIGCONT)
			harness.WaitUntil(t, "CONT for the worker", func() bool { return strings.Count(p.Stdout.Text(), "got SIGCONT") > before })
		}
		harness.WaitUntil(t, "a resume for each quiet", func() bool { return count(`"msg":"quiet`) == count(`"msg":"running again`) })
		p.Signal(unix.SIGTERM)
		p.WantExit(0)
	})
}
