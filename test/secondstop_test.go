package test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ignoreSecond are the ways to ask for --second-stop ignore.
var ignoreSecond = map[string]Launch{
	"by flag":     {Args: []string{"--second-stop", "ignore"}},
	"by variable": {Env: []string{"DRAINIT_SECOND_STOP=ignore"}},
}

// drainsUntilUSR1 is a worker whose drain ends by USR1, which is forwarded to it.
const drainsUntilUSR1 = `catch "TERM", "INT", "USR1"; say "ready"; await "USR1"; exit 7`

// secondStop starts a drain and repeats the stop signal twice, each time as a request of its
// own.
func secondStop(t *testing.T, l Launch, flags ...string) *Init {
	t.Helper()
	need(t, "perl")
	if len(flags) == 0 {
		flags = []string{longGrace}
	}
	l.Args = line(append(l.Args[:len(l.Args):len(l.Args)], flags...), script(drainsUntilUSR1)...)
	p := launch(t, l)
	p.waitOut(`^ready`)
	p.signal(unix.SIGTERM)
	p.waitOut(`^worker got TERM`)
	for range 2 {
		pastTheSameRequest()
		p.signal(unix.SIGTERM)
	}
	return p
}

// With --second-stop ignore a stop signal that is repeated is logged once and ignored: a
// platform that repeats itself cuts no job. The worker drains to its end, with its status.
func TestSecondStopIgnored(t *testing.T) {
	for name, l := range ignoreSecond {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				l := l
				l.NoPID1 = noPID1
				p := secondStop(t, l)
				p.waitErr(`SIGTERM again: ignored`)
				pastTheSameRequest()
				p.signal(unix.SIGINT) // another stop signal is one, too
				p.signal(unix.SIGUSR1)
				p.wantExit(7)
				p.wantLogged(`again: ignored`, 1)
				p.wantLogged(`force-stop`, 0)
				p.wantGots("worker got TERM", "worker got USR1")
			})
		})
	}
}

// The grace alone ends such a drain, and a repeated stop signal does not lengthen it.
func TestSecondStopIgnoredAndTheGraceEnds(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		began := time.Now()
		p := secondStop(t, Launch{NoPID1: noPID1, Args: []string{"--second-stop=ignore"}}, "--grace=2s")
		p.wantExit(137)
		wantTook(t, began, 2*time.Second, patience)
		p.wantLogged(`grace period of 2s over: killing perl`, 1)
		p.wantLogged(`force-stop`, 0)
		p.wantNothingLeft()
	})
}

// drainit stop --force is a person's, and force-stops all the same.
func TestSecondStopIgnoredButNotAForcedOne(t *testing.T) {
	asked(t, func(t *testing.T, run func(l Launch) *Container) {
		need(t, "perl")
		c := run(Launch{Args: line([]string{"--second-stop=ignore", longGrace}, script(drainsUntilUSR1)...)})
		c.waitOut(`^ready`)
		c.send(unix.SIGTERM)
		c.waitOut(`^worker got TERM`)
		pastTheSameRequest()
		c.send(unix.SIGTERM)
		c.waitErr(`SIGTERM again: ignored`)
		c.waitTitle("drainit:drain")
		c.ask("stop", "--force").wantDone(c.pid1)
		c.wantExit(137)
		c.wantNothingLeft()
	})
}

// A drain that began by itself has had no stop signal: the first is not a second one, and
// begins the grace.
func TestSecondStopIgnoredIsNotTheFirst(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := leaving(t, noPID1, "--second-stop=ignore", "--grace=60s")
		p.waitOut(`^child got TERM`)
		p.signal(unix.SIGTERM)
		p.waitErr(`the grace period starts now`)
		pastTheSameRequest()
		p.signal(unix.SIGTERM)
		p.waitErr(`SIGTERM again: ignored`)
		release()
		p.wantExit(5)
		p.wantCount("drained", 1)
		p.wantLogged(`force-stop`, 0)
	})
}

// The default is what it was, also by its name.
func TestSecondStopForces(t *testing.T) {
	for name, l := range map[string]Launch{
		"by default":  {},
		"by flag":     {Args: []string{"--second-stop=force"}},
		"by variable": {Env: []string{"DRAINIT_SECOND_STOP=force"}},
		"flag wins":   {Args: []string{"--second-stop=force"}, Env: []string{"DRAINIT_SECOND_STOP=ignore"}},
	} {
		t.Run(name, func(t *testing.T) {
			waitingModes(t, func(t *testing.T, noPID1 bool) {
				l := l
				l.NoPID1 = noPID1
				p := secondStop(t, l)
				p.wantExit(137)
				p.wantLogged(`second stop signal, force-stop: `, 1)
				p.wantLogged(`ignored`, 0)
				p.wantGots("worker got TERM")
			})
		})
	}
}

// Another value is refused, by the flag's name and with what it takes.
func TestSecondStopTakesTwoWords(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"never", "Ignored"} {
		r := runToEnd(t, Launch{Args: []string{"--second-stop=" + value, "--log-format=text", "--", "true"}})
		if r.status != 125 || !matches(`^drainit: .*--second-stop.*force.*ignore`, r.err) || len(linesOf(r.err)) != 1 {
			t.Errorf("%q: exit status %d, stderr %q", value, r.status, r.err)
		}
	}
}
