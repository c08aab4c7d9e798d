package signals

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The time of a signal is its arrival, and not when it is acted upon. A drainit that gets 5 ms of each
// 100 may sleep through a whole period between two TERM that come 50 ms apart, and they are one request;
// and of two that come 1 s apart it may have a snapshot of many processes still to take.
func TestTwoStopSignalsUnderACPULimit(t *testing.T) {
	harness.Full(t)
	for apart, forces := range map[time.Duration]bool{50 * time.Millisecond: false, time.Second: true} {
		t.Run(apart.String(), func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.WaitUntil(t, "two signals came so far apart, and drainit saw both", func() bool { return twiceCramped(t, noPID1, apart, forces) })
			})
		})
	}
}

// twiceCramped sends TERM twice, and checks what the second one does. It is false where the machine was
// too busy to send the two in time or others had most of what the limit leaves to drainit, and
// where the kernel made one of the two.
func twiceCramped(t *testing.T, noPID1 bool, apart time.Duration, forces bool) bool {
	t.Helper()
	const share = 25 * time.Millisecond // half of what the limit leaves to it in a second
	g := harness.NewCPUCgroup(t)
	hold, release := harness.Pipe(t)
	p := g.Run(harness.Launch{NoPID1: noPID1, Files: []*os.File{hold},
		Args: harness.Line([]string{harness.LongGrace}, harness.Script(harness.ManySleepers, "2000")...)})
	p.WaitReady()
	g.Limit(50)
	began, ran := time.Now(), harness.RunTime(p.Pid())
	p.Signal(unix.SIGTERM)
	if forces {
		harness.WaitUntil(t, "drainit has taken the first from the kernel", func() bool { return !pending(p) })
	}
	time.Sleep(apart) // what is tested
	ran = harness.RunTime(p.Pid()) - ran
	p.Signal(unix.SIGTERM)
	if late := time.Since(began) > 90*time.Millisecond; late && !forces {
		p.End()
		return false
	}
	same := func() bool { return harness.Matches(`treated as one request`, p.Stderr.Text()) }
	if !forces {
		passTo(p, unix.SIGUSR1, "worker") // once both TERM have been acted upon
		g.Lift()
		release.Close()
		p.WantExit(7)
		p.WantLogged(`force-stop`, 0)
		p.WantCount("worker got TERM", 1)
		return same()
	}
	harness.WaitUntil(t, "drainit has seen the second", func() bool { return harness.Comm(p.Pid()) == "drainit:kill" || !p.Running() || same() })
	g.Lift() // 2,000 deaths are much work, and not what is tested: the line may wait for them
	if same() && ran < share {
		p.End()
		return false
	}
	p.WantExit(137)
	p.WantLogged(`second stop signal, force-stop: `, 1)
	p.WantNothingLeft()
	return true
}
