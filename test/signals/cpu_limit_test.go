package signals

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// crampedDrain is a drainit with that worker, under a CPU limit of 50m from now on.
func crampedDrain(t *testing.T, noPID1 bool, sleepers int) (p *harness.Init, g harness.CpuCgroup, release func()) {
	t.Helper()
	g = harness.NewCPUCgroup(t)
	r, w := harness.Pipe(t)
	p = g.Run(harness.Launch{NoPID1: noPID1, Files: []*os.File{r},
		Args: harness.Line([]string{harness.LongGrace}, harness.Script(harness.ManySleepers, strconv.Itoa(sleepers))...)})
	p.WaitReady()
	g.Limit(50)
	return p, g, func() { w.Close() }
}

// A second TERM that is sent 1 s after the first force-stops, however late a drainit that
// gets 5 ms of each 100 has done with the first: the time of a signal is its arrival, and
// not when it is acted upon.
func TestSecondStopSignalASecondLaterForceStopsUnderACPULimit(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	t.Parallel()
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		harness.WaitUntil(t, "drainit had its share in a second", func() bool { return secondLaterCramped(t, noPID1) })
	})
}

// secondLaterCramped is false where drainit took the second for the first one, delivered twice,
// and others had most of what the limit leaves to it.
func secondLaterCramped(t *testing.T, noPID1 bool) bool {
	t.Helper()
	const share = 25 * time.Millisecond // half of what the limit leaves to it in a second
	p, g, _ := crampedDrain(t, noPID1, 3000)
	before := harness.RunTime(p.Pid())
	p.Signal(unix.SIGTERM)
	harness.WaitUntil(t, "drainit has taken the first from the kernel", func() bool { return !pending(p) })
	time.Sleep(time.Second) // what is tested: that they are so far apart
	ran := harness.RunTime(p.Pid()) - before
	p.Signal(unix.SIGTERM)
	same := func() bool { return harness.Matches(`treated as one request`, p.Stderr.Text()) }
	harness.WaitUntil(t, "drainit has seen the second", func() bool { return harness.Comm(p.Pid()) == "drainit:kill" || !p.Running() || same() })
	g.Lift() // 3,000 deaths are much work, and not what is tested: the line may wait for them
	if same() && ran < share {
		p.End()
		return false
	}
	if same() {
		t.Fatalf("no force-stop, though drainit ran for %v in between:\n%s", ran, p.Stderr.Text())
	}
	t.Logf("drainit ran for %v between the two", ran)
	p.WantExit(137)
	p.WantLogged(`second stop signal, force-stop: `, 1)
	p.WantNothingLeft()
	return true
}

// Two TERM that come 50 ms apart are one request, though drainit may sleep for the rest of a
// period between the two, or for several.
func TestStopSignalTwiceAtOnceIsOneRequestUnderACPULimit(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	t.Parallel()
	const rounds = 3
	for seen, n := 0, 0; seen == 0 || n < rounds; n++ {
		harness.WaitUntil(t, "drainit has seen a second signal, or one of two that came together", func() bool {
			together, two := twiceCramped(t, 50*time.Millisecond)
			if two {
				seen++
			}
			return together
		})
	}
}

// Two TERM that are sent back to back are one request: mostly the kernel makes them one.
func TestStopSignalBackToBackIsOneRequestUnderACPULimit(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	t.Parallel()
	for range 2 {
		harness.WaitUntil(t, "two signals came together", func() bool { together, _ := twiceCramped(t, 0); return together })
	}
}

// twiceCramped sends TERM twice and checks that it counts as one, and that the worker drains
// to its end. together is false where the machine was too busy to send the two within 100 ms;
// seen is whether drainit saw two: the kernel, and the Go runtime, make one of two that wait. A
// USR1 is forwarded once both TERM have been acted upon.
func twiceCramped(t *testing.T, apart time.Duration) (together, seen bool) {
	t.Helper()
	p, g, release := crampedDrain(t, false, 1000)
	began := time.Now()
	p.Signal(unix.SIGTERM)
	time.Sleep(apart) // what is tested
	p.Signal(unix.SIGTERM)
	if time.Since(began) > 90*time.Millisecond {
		p.End()
		return false, false
	}
	passTo(p, unix.SIGUSR1, "worker")
	g.Lift()
	release()
	p.WantExit(7)
	p.WantLogged(`second stop signal, force-stop`, 0)
	p.WantCount("worker got TERM", 1)
	return true, harness.Matches(`treated as one request`, p.Err())
}

// starved waits for TERM in sigwait, for a moment at a time as tini does, and passes it on to
// the process group of its child, a shell that dies of it and leaves the application.
const starved = `
POSIX::sigprocmask(POSIX::SIG_BLOCK(), POSIX::SigSet->new(POSIX::SIGTERM()));
my $child = spawn {
	setpgrp;
	spawn { catch "TERM"; unblock(); say "ready"; await "TERM"; nap 1; nap 1; say "done" };
	unblock(); forever;
};
sub unblock { POSIX::sigprocmask(POSIX::SIG_UNBLOCK(), POSIX::SigSet->new(POSIX::SIGTERM())) }
my ($term, $time) = (pack("Q", 1 << POSIX::SIGTERM() - 1), pack("qq", 0, 130_000_000));
1 until syscall($ARGV[0] + 0, $term, 0, $time, 8) == POSIX::SIGTERM();
kill -15, $child; waitpid $child, 0; exit 3`

// One that has come out of sigwait and has no processor yet handles the signal all the same:
// what it signals with its group is not signalled again.
func TestRelayThatWaitsForItsTurnSignalsItsGroup(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	for n := range 5 {
		t.Run(fmt.Sprint("round ", n), func(t *testing.T) {
			t.Parallel()
			g := harness.NewCPUCgroup(t)
			p := harness.Run(t, harness.Launch{Args: harness.Line([]string{harness.LongGrace}, harness.Script(starved, strconv.Itoa(unix.SYS_RT_SIGTIMEDWAIT))...)})
			p.WaitOut(`^ready`)
			relay := p.FirstChild()
			g.Starve(relay)
			harness.WaitUntil(t, "the relay waits for its turn", func() bool { return harness.StateOf(relay) == 'R' })
			p.Signal(unix.SIGTERM)
			p.WantExit(3)
			p.WantCount("worker got TERM", 1)
			p.WantCount("done", 1)
		})
	}
}
