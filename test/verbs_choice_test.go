package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// insidePid is the pid that a process has in its own namespace.
func insidePid(t *testing.T, pid int) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); f[0] == "NSpid:" {
			return f[len(f)-1]
		}
	}
	t.Fatalf("no NSpid of %d", pid)
	return ""
}

// startsListening starts a container whose worker listens to what verbs send.
func (pod Pod) startsListening(cgroup string) *Container {
	pod.pause.t.Helper()
	c := pod.run(cgroup, Launch{Args: []string{longGrace, "--", workerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"}})
	c.waitOut(`^ready`)
	c.waitTitle("drainit:run")
	return c
}

func TestVerbsChooseByPid(t *testing.T) {
	t.Parallel()
	needAsk(t)
	pod, cgroup := newPod(t), newCgroup(t)
	a, b := pod.startsListening(cgroup), pod.startsListening(cgroup)
	first, second := insidePid(t, a.drainit), insidePid(t, b.drainit)
	a.ask("status").wantRefused(fmt.Sprintf(`^drainit: several drainits here: (%s, %s|%[2]s, %[1]s); choose one with --pid$`, first, second))
	a.ask("status", "--pid", first).want(0, `\Arunning: drainit\[`+first+`\], 1 process below it\n`, "")
	a.ask("quiet", "--pid="+second).wantSilent()
	b.waitOut(`^got SIGTSTP`)
	a.ask("status", "--ready", "--pid", first).want(0, `\Arunning\n\z`, "")
	a.ask("status", "--ready", "--pid", second).want(1, `\Aquiet\n\z`, "")
	a.ask("resume", "--pid", second).wantSilent()
	b.waitOut(`^got SIGCONT`)
	for _, none := range []string{"1", "2147483647", insidePid(t, b.readyPid(`^ready`))} {
		for _, verb := range []string{"status", "quiet", "resume", "stop"} {
			a.ask(verb, "--pid", none).wantRefused(`^drainit: --pid: no drainit runs as ` + none + `$`)
		}
	}
	a.ask("stop", "--pid", second).wantSilent()
	b.wantExit(7)
	a.wantTitle("drainit:run")
	a.ask("status").want(0, `^running`, "")
}

// drainsBriefly is a worker that goes on for so long when it is asked to stop.
func drainsBriefly(t *testing.T, run func(Launch) *Container) *Container {
	t.Helper()
	c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-drain", "700ms", "-exit", "7"}})
	c.waitOut(`^ready`)
	c.waitTitle("drainit:run")
	return c
}

func TestStopWaits(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := drainsBriefly(t, run)
		c.ask("stop", "--wait").wantDone(c.pid1)
		if state := stateOf(c.drainit); state != 0 && state != 'Z' {
			t.Errorf("drainit is in state %c", state)
		}
		c.wantExit(7)
		c.wantCount("drained", 1)
	})
}

// A stop that has begun is waited for, too; what is left comes first.
func TestStopWaitsForAStopThatHasBegun(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := drainsBriefly(t, run)
		c.send(unix.SIGTERM)
		c.waitTitle("drainit:drain")
		a := c.ask("stop", "--wait")
		if done := a.status == 0 || c.pid1 && a.status == 137; !done || a.err != "" || !strings.HasPrefix(a.out, "draining: drainit[") {
			t.Errorf("%+v", a)
		}
		if state := stateOf(c.drainit); state != 0 && state != 'Z' {
			t.Errorf("drainit is in state %c", state)
		}
		c.wantExit(7)
	})
}

func TestForcedStopWaits(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{longGrace, "--", workerBin, "listen", "-drain", "1h"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		c.ask("stop", "--force", "--wait").wantDone(c.pid1)
		if state := stateOf(c.drainit); !c.pid1 && state != 0 && state != 'Z' { // as PID 1 it kills what asked
			t.Errorf("drainit is in state %c", state)
		}
		c.wantExit(137)
	})
}

// A drainit that ignores repeated stop signals knows by that name which ones are meant.
func TestForcedStopBearsItsName(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := start(t, longGrace, "--", workerBin, "listen")
	p.waitOut(`^ready`)
	p.waitTitle("drainit:run")
	freeze(t, p.Pid())
	asks := make(chan answer)
	go func() { asks <- p.ask("stop", "--force") }()
	waitUntil(t, "the TERM is there", func() bool { return signalMask(t, p.Pid(), "ShdPnd")&(1<<(unix.SIGTERM-1)) != 0 })
	named := 0
	for _, pid := range p.alive() {
		if strings.HasPrefix(comm(pid), "force:") {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%d processes are called force:PID", named)
	}
	(<-asks).want(1, "", `is stopped itself`)
	p.signal(unix.SIGCONT)
}

// In a shared PID namespace a process may call itself what it likes.
func TestVerbsInAPodAskNoImpostor(t *testing.T) {
	t.Parallel()
	needAsk(t)
	need(t, "perl")
	pod, cgroup := newPod(t), newCgroup(t)
	beside := pod.run(cgroup, Launch{Bin: pathOf(t, "perl"), Args: []string{"-e", renamed, prctl, "drainit:run"}})
	beside.waitOut(`^ready`)
	c := pod.run(cgroup, Launch{Args: []string{longGrace, "--", "perl", "-e", renamed, prctl, "drainit:kill"}})
	c.waitOut(`^ready`)
	c.waitTitle("drainit:run")
	c.ask("status").want(0, `\Arunning: drainit\[`+insidePid(t, c.drainit)+`\], 1 process below it\n(.*\n)+.* drainit:kill\n\z`, "")
	c.ask("quiet").wantSilent()
	c.waitOut(`^quiet`)
	if beside.out() != "ready\n" {
		t.Errorf("the impostor was asked: %q", beside.out())
	}
}

// startFrozen starts a drainit as PID 1, and stops it before it has started its worker.
func startFrozen(t *testing.T) *Init {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		p := start(t, "--", workerBin, "listen")
		for comm(p.Pid()) == "worker" { // what sets the stage
		}
		p.signal(unix.SIGSTOP)
		waitUntil(t, "it has stopped", func() bool { return stateOf(p.Pid()) == 'T' })
		if title := comm(p.Pid()); title == "drainit" || title == "drainit:start" {
			return p
		}
		p.signal(unix.SIGKILL)
		p.wait()
	}
	t.Fatal("never stopped in time")
	return nil
}

// A probe that comes early is answered so, and not that there is no drainit.
func TestVerbsOfADrainitThatStarts(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := startFrozen(t)
	for _, args := range everyVerb[:6] {
		p.ask(args...).want(1, "", `\Adrainit: drainit\[1\] has not started its worker yet\n\z`)
	}
	if pending := signalMask(t, p.Pid(), "ShdPnd"); pending != 0 {
		t.Errorf("it was sent signals: %#x", pending)
	}
	p.ask("stop").wantSilent()
	p.signal(unix.SIGCONT)
}

// entitled is a PID 1 that has a drainit's title.
func entitled(t *testing.T, title string) *Init {
	t.Helper()
	need(t, "perl")
	p := launch(t, Launch{Bin: pathOf(t, "perl"), Args: []string{"-e", renamed, prctl, title}})
	p.waitOut(`^ready`)
	return p
}

func TestStatusOfAStoppedWorker(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := entitled(t, "drainit:stopped")
	const word = "running, but the worker is stopped"
	p.ask("status").want(0, `\A`+word+`: drainit\[1\], 0 processes below it\n\z`, "")
	p.ask("status", "--ready").want(1, `\A`+word+`\n\z`, "")
	if s := p.ask("status", "--json").parsed(); s.Phase != "running" || s.Ready || !s.WorkerAlive || !s.WorkerStopped {
		t.Errorf("%+v", s)
	}
}

func TestQuietWithoutEffectSaysSo(t *testing.T) {
	t.Parallel()
	needAsk(t)
	p := entitled(t, "drainit:quiet?")
	for _, args := range [][]string{{"quiet"}, {"quiet", "--sleep=10ms"}} {
		p.ask(args...).want(0, "", `\Adrainit: quiet has no effect: no process handles SIGTSTP.*\n\z`)
	}
	p.ask("status", "--ready").want(1, `\Aquiet\n\z`, "")
	if s := p.ask("status", "--json").parsed(); s.Phase != "quiet" || s.QuietHandled == nil || *s.QuietHandled {
		t.Errorf("%+v", s)
	}
}

// The stop signal, since when, and the time left are those that drainit goes by.
func TestStatusSaysTheStopAndTheTimeLeft(t *testing.T) {
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: []string{"--grace=50s", "--", workerBin, "listen", "-catch", "TERM,INT,USR1", "-end", "USR1", "-exit", "7"}})
		c.waitOut(`^ready`)
		c.waitTitle("drainit:run")
		before := time.Now()
		c.send(unix.SIGINT)
		c.waitOut(`^got SIGINT`)
		c.ask("status").want(0, `\Adraining: drainit\[\d+\], SIGINT [0-9.]+s ago, SIGKILL in (49|50)\.\ds, 1 process below it\n`, "")
		s := c.ask("status", "--json").parsed()
		if since := s.StoppingSince.Sub(before); s.StopSignal != "SIGINT" || since < -time.Second || since > atOnce {
			t.Errorf("%+v, sent at %v", s, before)
		}
		if s.Left == nil || *s.Left > 50 || *s.Left < 50-atOnce.Seconds() {
			t.Errorf("%+v", s)
		}
		c.send(unix.SIGUSR1)
		c.wantExit(7)
	})
}

// A worker that ended by itself leaves no stop signal, but a time.
func TestStatusSaysTheTimeLeftOfAWorkerThatEnded(t *testing.T) {
	need(t, "perl")
	asked(t, func(t *testing.T, run func(Launch) *Container) {
		c := run(Launch{Args: workerThatLeaves()})
		c.waitOut(`^child got TERM`)
		c.waitTitle("drainit:ended")
		c.ask("status").want(1, `\Adraining: drainit\[\d+\], the worker has ended, SIGKILL in [23]\d\.\ds, 1 process below it\n`, "")
		if s := c.ask("status", "--json").parsed(); s.StopSignal != "" || s.StoppingSince.IsZero() || s.Left == nil {
			t.Errorf("%+v", s)
		}
	})
}
