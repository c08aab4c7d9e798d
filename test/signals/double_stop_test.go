package signals

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// stopPair are two stop signals.
type stopPair [2]syscall.Signal

func TestSecondStopSignalForcesTheStop(t *testing.T) {
	for name, pair := range map[string]stopPair{"TERM TERM": {unix.SIGTERM, unix.SIGTERM}, "INT TERM": {unix.SIGINT, unix.SIGTERM}} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[TERM,INT](b[TERM,INT])", "a b")
				passTo(p, pair[0], "a")
				harness.PastTheSameRequest(p)
				p.Signal(pair[1])
				p.WantExit(137)
				p.WantLogged(`second stop signal, force-stop: `, 1)
				p.WantGots("a got " + strings.TrimPrefix(unix.SignalName(pair[0]), "SIG"))
				p.WantNothingLeft()
			})
		})
	}
}

// timeout(1), npm under Ctrl-C and some runtimes deliver one request twice.
func TestStopSignalTwiceAtOnceIsOneRequest(t *testing.T) {
	for mode, pair := range map[string]stopPair{"auto": {unix.SIGTERM, unix.SIGTERM}, "group": {unix.SIGTERM, unix.SIGINT}, "worker": {unix.SIGINT, unix.SIGTERM}} {
		t.Run(mode, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.WaitUntil(t, "the second signal came within 100ms of the first", func() bool {
					return twiceAtOnce(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode}}, pair)
				})
			})
		})
	}
}

// twiceAtOnce sends a stop signal twice and checks that it counts as one. ok is
// false where the kernel made one of the two, or the machine was so busy that
// they may have come to drainit more than 100 ms apart.
func twiceAtOnce(t *testing.T, l harness.Launch, pair stopPair) (ok bool) {
	t.Helper()
	p := harness.StartTree(t, l, "a[TERM,INT,USR1=7]", "a")
	taken := func() {
		t.Helper()
		harness.WaitUntil(t, "no signal waits for drainit", func() bool { return !pending(p) })
	}
	sent := time.Now()
	p.Signal(pair[0])
	taken()
	p.Signal(pair[1])
	p.WaitOut(`^a got (TERM|INT)`)
	taken()
	p.Signal(unix.SIGUSR1)
	if p.Wait() == 137 {
		harness.WantForcedLate(t, p.Err(), sent)
		return false
	}
	p.WantExit(7)
	if stops := strings.Count(p.Out(), "got TERM") + strings.Count(p.Out(), "got INT"); stops != 1 || t.Failed() {
		t.Fatalf("the worker was signalled %d times\nstdout:\n%s\nstderr:\n%s", stops, p.Out(), p.Err())
	}
	return strings.Contains(p.Err(), "treated as one request")
}

// pending reports whether a signal has been sent to the init that it has not
// taken from the kernel yet.
func pending(p *harness.Init) bool {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	return err == nil && !strings.Contains(string(b), "ShdPnd:\t0000000000000000\n")
}

// drainsUntilUSR1 is a worker whose drain ends by USR1, which is forwarded to it. Its name forces nothing.
const drainsUntilUSR1 = `$0 = "force:1"; catch "TERM", "INT", "USR1"; say "ready"; await "USR1"; exit 7`

// With --second-stop ignore a stop signal that is repeated is logged once and ignored: a
// platform that repeats itself cuts no job. The worker drains to its end, with its status.
func TestSecondStopIgnored(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, noPID1, []string{"--second-stop=ignore"}, harness.Script(drainsUntilUSR1)...)
		passTo(p, unix.SIGTERM, "worker")
		for _, again := range []syscall.Signal{unix.SIGTERM, unix.SIGTERM, unix.SIGINT} {
			harness.PastTheSameRequest(p)
			p.Signal(again)
		}
		p.WaitErr(`SIGTERM again: ignored`)
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantLogged(`again: ignored`, 1)
		p.WantLogged(`force-stop`, 0)
		p.WantGots("worker got TERM", "worker got USR1")
	})
}

// drainit stop --force is a person's, and force-stops all the same.
func TestSecondStopIgnoredButNotAForcedOne(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(l harness.Launch) *harness.Container) {
		harness.Need(t, "perl")
		c := run(harness.Launch{Args: harness.Line([]string{"--second-stop=ignore", harness.LongGrace}, harness.Script(drainsUntilUSR1)...)})
		c.WaitOut(`^ready`)
		c.Send(unix.SIGTERM)
		c.WaitOut(`^worker got TERM`)
		harness.PastTheSameRequest()
		c.Send(unix.SIGTERM)
		c.WaitErr(`SIGTERM again: ignored`)
		c.WaitTitle("drainit:drain")
		c.Ask("stop", "--force").WantDone(c.Pid1)
		c.WantExit(137)
		c.WantNothingLeft()
	})
}

// A drain that began by itself has had no stop signal: the first is not a second one, and
// begins the grace.
func TestSecondStopIgnoredIsNotTheFirst(t *testing.T) {
	t.Parallel()
	p, release := harness.Leaving(t, false, "--second-stop=ignore", harness.LongGrace)
	harness.StopLeavingTwice(p)
	p.WaitErr(`SIGTERM again: ignored`)
	release()
	p.WantExit(5)
	p.WantCount("drained", 1)
	p.WantLogged(`force-stop`, 0)
}

// A machine may be so busy that drainit is late: a worker that has ended in time has ended in time.
func TestWorkerThatEndedInTimeIsNotCalledKilledByALateDrainit(t *testing.T) {
	harness.Usual(t)
	for name, then := range map[string]syscall.Signal{"for the end of the grace": unix.SIGCONT, "for a second stop signal": unix.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.WaitUntil(t, "drainit stopped within the grace", func() bool { return endedBeforeLate(t, noPID1, then) })
			})
		})
	}
}

// endedBeforeLate has a worker drain and end while drainit is stopped, until the grace is over.
// It is false where the grace was over before drainit stopped.
func endedBeforeLate(t *testing.T, noPID1 bool, then syscall.Signal) bool {
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
