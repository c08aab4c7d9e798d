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
	harness.Usual(t)
	for _, late := range []struct {
		name string
		then unix.Signal
	}{{"for the end of the grace", unix.SIGCONT}, {"for a second stop signal", unix.SIGTERM}} {
		t.Run(late.name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.WaitUntil(t, "drainit stopped within the grace", func() bool { return endedBeforeLate(t, noPID1, late.then) })
			})
		})
	}
}

// endedBeforeLate has a worker drain and end while drainit is stopped, until the grace is over.
// It is false where the grace was over before drainit stopped.
func endedBeforeLate(t *testing.T, noPID1 bool, then unix.Signal) bool {
	t.Helper()
	const grace, margin = 500 * time.Millisecond, 50 * time.Millisecond
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--grace", grace.String(), "--",
		harness.WorkerBin, "listen", "-catch", "TERM,USR1", "-end", "USR1"}})
	worker := harness.Ready(t, p)
	p.Signal(unix.SIGTERM)
	harness.WaitUntil(t, "the worker has it, or has been killed", func() bool { return harness.Matches("^got SIGTERM", p.Stdout.Text()) || !p.Running() })
	signalled := time.Now() // the grace has begun before
	p.Signal(unix.SIGSTOP)
	harness.WaitUntil(t, "drainit is stopped, or has ended", func() bool { return harness.StateOf(p.Pid()) == 'T' || !p.Running() })
	if harness.Comm(p.Pid()) != "drainit:drain" || harness.StateOf(worker) == 'Z' {
		p.End()
		return false
	}
	harness.Kill(t, worker, unix.SIGUSR1)
	harness.WaitUntil(t, "the worker has ended", func() bool { return harness.StateOf(worker) == 'Z' })
	time.Sleep(time.Until(signalled.Add(grace + margin)))
	p.Signal(then)
	p.Signal(unix.SIGCONT)
	p.WantExit(0)
	p.WantLogged("killing", 0)
	return true
}

// Which of the two came first the runtime does not always say; a worker that
// was resumed must not stay quiet.
func TestQuietAndResumeAtOnceEndRunning(t *testing.T) {
	harness.Usual(t)
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		fewAndMany(t, 10, 100, func(t *testing.T, rounds int) { quietAndResume(t, noPID1, rounds) })
	})
}

func quietAndResume(t *testing.T, noPID1 bool, rounds int) {
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM"}})
	p.WaitOut("^ready")
	count := func(text string) int { return strings.Count(p.Stderr.Text(), text) }
	for range rounds {
		before := strings.Count(p.Stdout.Text(), "got SIGCONT")
		p.Signal(unix.SIGTSTP)
		p.Signal(unix.SIGCONT)
		harness.WaitUntil(t, "CONT for the worker", func() bool { return strings.Count(p.Stdout.Text(), "got SIGCONT") > before })
	}
	harness.WaitUntil(t, "a resume for each quiet", func() bool { return count(`"msg":"quiet`) == count(`"msg":"running again`) })
	p.Signal(unix.SIGTERM)
	p.WantExit(0)
}
