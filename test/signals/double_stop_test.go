package signals

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestSecondStopSignalForcesTheStop(t *testing.T) {
	for name, pair := range map[string][2]syscall.Signal{
		"TERM TERM": {unix.SIGTERM, unix.SIGTERM},
		"TERM INT":  {unix.SIGTERM, unix.SIGINT},
		"INT TERM":  {unix.SIGINT, unix.SIGTERM},
		"INT INT":   {unix.SIGINT, unix.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := harness.StartTree(t, harness.Launch{NoPID1: noPID1}, "a[TERM,INT](b[TERM,INT])", "a b")
				p.Signal(pair[0])
				p.WaitOut(`^a got`)
				harness.PastTheSameRequest(p)
				p.Signal(pair[1])
				p.WantExit(137)
				p.WaitErr(`second stop signal`)
				p.WantGots("a got " + strings.TrimPrefix(unix.SignalName(pair[0]), "SIG"))
				p.WantNothingLeft()
			})
		})
	}
}

// timeout(1), npm under Ctrl-C and some runtimes deliver one request twice.
func TestStopSignalTwiceAtOnceIsOneRequest(t *testing.T) {
	for name, pair := range map[string][2]syscall.Signal{
		"TERM TERM": {unix.SIGTERM, unix.SIGTERM},
		"TERM INT":  {unix.SIGTERM, unix.SIGINT},
		"INT TERM":  {unix.SIGINT, unix.SIGTERM},
	} {
		for _, mode := range forwardModes {
			t.Run(name+", forward "+mode, func(t *testing.T) {
				harness.BothModes(t, func(t *testing.T, noPID1 bool) {
					t.Parallel()
					harness.WaitUntil(t, "the second signal came within 100ms of the first", func() bool {
						return twiceAtOnce(t, harness.Launch{NoPID1: noPID1, Args: []string{"--forward", mode}}, pair)
					})
				})
			})
		}
	}
}

// twiceAtOnce sends a stop signal twice and checks that it counts as one. ok is
// false where the kernel made one of the two, or the machine was so busy that
// they may have come to drainit more than 100 ms apart.
func twiceAtOnce(t *testing.T, l harness.Launch, pair [2]syscall.Signal) (ok bool) {
	t.Helper()
	p := harness.StartTree(t, l, "a[TERM,INT,USR1=7]", "a")
	sent := time.Now()
	p.Signal(pair[0])
	harness.WaitUntil(t, "no signal waits for drainit", func() bool { return !pending(p) })
	p.Signal(pair[1])
	p.WaitOut(`^a got (TERM|INT)`)
	harness.WaitUntil(t, "no signal waits for drainit", func() bool { return !pending(p) })
	p.Signal(unix.SIGUSR1)
	if p.Wait() == 137 {
		harness.WantForcedLate(t, p.Err(), sent)
		return false
	}
	p.WantExit(7)
	stops := strings.Count(p.Out(), "got TERM") + strings.Count(p.Out(), "got INT")
	if stops != 1 || t.Failed() {
		t.Fatalf("the worker was signalled %d times\nstdout:\n%s\nstderr:\n%s", stops, p.Out(), p.Err())
	}
	return strings.Contains(p.Err(), "treated as one request")
}

// pending reports whether a signal has been sent to the init that it has not
// taken from the kernel yet.
func pending(p *harness.Init) bool {
	p.T.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid()))
	return err == nil && !bytes.Contains(b, []byte("ShdPnd:\t0000000000000000\n"))
}

// ignoreSecond are the ways to ask for --second-stop ignore.
var ignoreSecond = map[string]harness.Launch{
	"by flag":     {Args: []string{"--second-stop", "ignore"}},
	"by variable": {Env: []string{"DRAINIT_SECOND_STOP=ignore"}},
}

// drainsUntilUSR1 is a worker whose drain ends by USR1, which is forwarded to it.
const drainsUntilUSR1 = `catch "TERM", "INT", "USR1"; say "ready"; await "USR1"; exit 7`

// secondStop starts a drain and repeats the stop signal twice, each time as a request of its
// own.
func secondStop(t *testing.T, l harness.Launch) *harness.Init {
	t.Helper()
	p := drainsAtUSR1(t, l, harness.LongGrace)
	passTo(p, unix.SIGTERM, "worker")
	stopTwice(p)
	return p
}

// drainsAtUSR1 starts such a worker, and waits until it is ready.
func drainsAtUSR1(t *testing.T, l harness.Launch, grace string) *harness.Init {
	t.Helper()
	harness.Need(t, "perl")
	l.Args = harness.Line(append(l.Args[:len(l.Args):len(l.Args)], grace), harness.Script(drainsUntilUSR1)...)
	p := harness.Run(t, l)
	p.WaitOut(`^ready`)
	return p
}

func stopTwice(p *harness.Init) {
	p.T.Helper()
	for range 2 {
		harness.PastTheSameRequest(p)
		p.Signal(unix.SIGTERM)
	}
}

// asAsked runs a test in both modes where this is asked for by flags alone, else as PID 1.
func asAsked(t *testing.T, l harness.Launch, test func(t *testing.T, l harness.Launch)) {
	t.Helper()
	if len(l.Env) > 0 {
		t.Parallel()
		test(t, l)
		return
	}
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		l := l
		l.NoPID1 = noPID1
		test(t, l)
	})
}

// With --second-stop ignore a stop signal that is repeated is logged once and ignored: a
// platform that repeats itself cuts no job. The worker drains to its end, with its status.
func TestSecondStopIgnored(t *testing.T) {
	for name, l := range ignoreSecond {
		t.Run(name, func(t *testing.T) {
			asAsked(t, l, func(t *testing.T, l harness.Launch) {
				p := secondStop(t, l)
				p.WaitErr(`SIGTERM again: ignored`)
				harness.PastTheSameRequest(p)
				p.Signal(unix.SIGINT) // another stop signal is one, too
				p.Signal(unix.SIGUSR1)
				p.WantExit(7)
				p.WantLogged(`again: ignored`, 1)
				p.WantLogged(`force-stop`, 0)
				p.WantGots("worker got TERM", "worker got USR1")
			})
		})
	}
}

// The grace alone ends such a drain, and a repeated stop signal does not lengthen it.
func TestSecondStopIgnoredAndTheGraceEnds(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		const grace = time.Second
		began := time.Now()
		p := drainsAtUSR1(t, harness.Launch{NoPID1: noPID1, Args: []string{"--second-stop=ignore"}}, "--grace="+grace.String())
		p.Signal(unix.SIGTERM)
		p.WaitErr(`stopping: SIGTERM sent`) // the worker may be killed before it says that it has it
		stopTwice(p)
		p.WantExit(137)
		if took := time.Since(began); took < grace {
			t.Errorf("killed after %v", took)
		}
		p.WantLogged(`grace period of 1s over: killing perl`, 1)
		p.WantLogged(`force-stop`, 0)
		p.WantNothingLeft()
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
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		harness.Need(t, "perl")
		stdin, exit := harness.Pipe(t)
		hold, release := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold},
			Args: harness.Line([]string{"--second-stop=ignore", harness.LongGrace}, harness.Script(harness.LeavesChild, "0")...)})
		p.WaitOut(`^ready`)
		exit.Close()
		harness.StopLeavingTwice(p)
		p.WaitErr(`SIGTERM again: ignored`)
		release.Close()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantLogged(`force-stop`, 0)
	})
}

// The default is what it was, also by its name.
func TestSecondStopForces(t *testing.T) {
	for name, l := range map[string]harness.Launch{
		"by default":  {},
		"by flag":     {Args: []string{"--second-stop=force"}},
		"by variable": {Env: []string{"DRAINIT_SECOND_STOP=force"}},
		"flag wins":   {Args: []string{"--second-stop=force"}, Env: []string{"DRAINIT_SECOND_STOP=ignore"}},
	} {
		t.Run(name, func(t *testing.T) {
			asAsked(t, l, func(t *testing.T, l harness.Launch) {
				p := secondStop(t, l)
				p.WantExit(137)
				p.WantLogged(`second stop signal, force-stop: `, 1)
				p.WantLogged(`ignored`, 0)
				p.WantGots("worker got TERM")
			})
		})
	}
}

// Another value is refused, by the flag's name and with what it takes.
func TestSecondStopTakesTwoWords(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"never", "Ignored"} {
		r := harness.RunToEnd(t, harness.Launch{Args: []string{"--second-stop=" + value, "--log-format=text", "--", "true"}})
		if r.Status != 125 || !harness.Matches(`^drainit: .*--second-stop.*force.*ignore`, r.Err) || len(harness.LinesOf(r.Err)) != 1 {
			t.Errorf("%q: exit status %d, stderr %q", value, r.Status, r.Err)
		}
	}
}
