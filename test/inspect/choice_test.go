package inspect

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
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
func startsListening(pod harness.Pod, cgroup string) *harness.Container {
	pod.Pause.T.Helper()
	c := pod.Run(cgroup, harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP,CONT", "-exit", "7"}})
	c.WaitReady()
	return c
}

func TestVerbsChooseByPid(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	pod, cgroup := harness.NewPod(t), harness.NewCgroup(t)
	a, b := startsListening(pod, cgroup), startsListening(pod, cgroup)
	first, second := insidePid(t, a.Drainit), insidePid(t, b.Drainit)
	a.Ask("status").WantRefused(fmt.Sprintf(`^drainit: several drainits here: (%s, %s|%[2]s, %[1]s); choose one with --pid$`, first, second))
	a.Ask("status", "--pid", first).Want(0, `\Arunning: drainit\[`+first+`\], 1 process below it\n`, "")
	a.Ask("quiet", "--pid="+second).WantSilent()
	b.WaitOut(`^got SIGTSTP`)
	a.Ask("status", "--ready", "--pid", first).Want(0, `\Arunning\n\z`, "")
	a.Ask("status", "--ready", "--pid", second).Want(1, `\Aquiet\n\z`, "")
	a.Ask("resume", "--pid", second).WantSilent()
	b.WaitOut(`^got SIGCONT`)
	for _, none := range []string{"1", "2147483647", insidePid(t, b.ReadyPid(`^ready`))} {
		for _, verb := range []string{"status", "quiet", "resume", "stop"} {
			a.Ask(verb, "--pid", none).WantRefused(`^drainit: --pid: no drainit runs as ` + none + `$`)
		}
	}
	a.Ask("stop", "--pid", second).WantSilent()
	b.WantExit(7)
	a.WantTitle("drainit:run")
	a.Ask("status").Want(0, `^running`, "")
}

// drainsBriefly is a worker that goes on for so long when it is asked to stop.
func drainsBriefly(t *testing.T, run func(harness.Launch) *harness.Container) *harness.Container {
	t.Helper()
	c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-drain", "700ms", "-exit", "7"}})
	c.WaitReady()
	return c
}

// wantEnded checks that drainit has ended when a verb that waits for it returns. A PID 1 that
// ends takes the verb with it: the kernel kills all others of the namespace, and meanwhile
// the one that ends sleeps (zap_pid_ns_processes, kernel/pid_namespace.c).
func wantEnded(t *testing.T, c *harness.Container, a harness.Answer) {
	t.Helper()
	if state := harness.StateOf(c.Drainit); a.Status != 137 && state != 0 && state != 'Z' {
		t.Errorf("drainit is in state %c", state)
	}
}

func TestStopWaits(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := drainsBriefly(t, run)
		a := c.Ask("stop", "--wait")
		a.WantDone(c.Pid1)
		wantEnded(t, c, a)
		c.WantExit(7)
		c.WantCount("drained", 1)
	})
}

// A stop that has begun is waited for, too; what is left comes first.
func TestStopWaitsForAStopThatHasBegun(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := drainsBriefly(t, run)
		c.Send(unix.SIGTERM)
		c.WaitTitle("drainit:drain")
		a := c.Ask("stop", "--wait")
		if done := a.Status == 0 || c.Pid1 && a.Status == 137; !done || a.Err != "" || !strings.HasPrefix(a.Out, "draining: drainit[") {
			t.Errorf("%+v", a)
		}
		wantEnded(t, c, a)
		c.WantExit(7)
	})
}

func TestForcedStopWaits(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{harness.LongGrace, "--", harness.WorkerBin, "listen", "-drain", "1h"}})
		c.WaitReady()
		a := c.Ask("stop", "--force", "--wait")
		a.WantDone(c.Pid1)
		wantEnded(t, c, a)
		c.WantExit(137)
	})
}

// A drainit that ignores repeated stop signals knows by that name which ones are meant.
func TestForcedStopBearsItsName(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Start(t, harness.LongGrace, "--", harness.WorkerBin, "listen")
	p.WaitReady()
	harness.Freeze(t, p.Pid())
	asks := make(chan harness.Answer)
	go func() { asks <- p.Ask("stop", "--force") }()
	harness.WaitUntil(t, "the TERM is there", func() bool { return harness.SignalMask(t, p.Pid(), "ShdPnd")&(1<<(unix.SIGTERM-1)) != 0 })
	named := 0
	for _, pid := range p.Alive() {
		if strings.HasPrefix(harness.Comm(pid), "force:") {
			named++
		}
	}
	if named != 1 {
		t.Errorf("%d processes are called force:PID", named)
	}
	(<-asks).Want(1, "", `is stopped itself`)
	p.Signal(unix.SIGCONT)
}

// In a shared PID namespace a process may call itself what it likes.
func TestVerbsInAPodAskNoImpostor(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	harness.Need(t, "perl")
	pod, cgroup := harness.NewPod(t), harness.NewCgroup(t)
	beside := pod.Run(cgroup, harness.Launch{Bin: harness.PathOf(t, "perl"), Args: []string{"-e", harness.Renamed, harness.Prctl, "drainit:run"}})
	beside.WaitOut(`^ready`)
	c := pod.Run(cgroup, harness.Launch{Args: []string{harness.LongGrace, "--", "perl", "-e", harness.Renamed, harness.Prctl, "drainit:kill"}})
	c.WaitReady()
	c.Ask("status").Want(0, `\Arunning: drainit\[`+insidePid(t, c.Drainit)+`\], 1 process below it\n(.*\n)+.* drainit:kill\n\z`, "")
	c.Ask("quiet").WantSilent()
	c.WaitOut(`^quiet`)
	if beside.Out() != "ready\n" {
		t.Errorf("the impostor was asked: %q", beside.Out())
	}
}

// startFrozen starts a drainit as PID 1, and stops it before it has started its worker.
func startFrozen(t *testing.T) *harness.Init {
	t.Helper()
	for deadline := time.Now().Add(harness.Patience); time.Now().Before(deadline); {
		p := harness.Start(t, "--", harness.WorkerBin, "listen")
		for harness.Comm(p.Pid()) == "worker" { // what sets the stage
		}
		p.Signal(unix.SIGSTOP)
		harness.WaitUntil(t, "it has stopped", func() bool { return harness.StateOf(p.Pid()) == 'T' })
		if harness.Comm(p.Pid()) == "drainit:start" {
			return p
		}
		p.Signal(unix.SIGKILL)
		p.Wait()
	}
	t.Fatal("never stopped in time")
	return nil
}

// A probe that comes early is answered so, and not that there is no drainit.
func TestVerbsOfADrainitThatStarts(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := startFrozen(t)
	for _, args := range everyVerb[:6] {
		p.Ask(args...).Want(1, "", `\Adrainit: drainit\[1\] has not started its worker yet\n\z`)
	}
	if pending := harness.SignalMask(t, p.Pid(), "ShdPnd"); pending != 0 {
		t.Errorf("it was sent signals: %#x", pending)
	}
	p.Ask("stop").WantSilent()
	p.Signal(unix.SIGCONT)
}

// entitled is a PID 1 that has a drainit's title.
func entitled(t *testing.T, title string) *harness.Init {
	t.Helper()
	harness.Need(t, "perl")
	p := harness.Run(t, harness.Launch{Bin: harness.PathOf(t, "perl"), Args: []string{"-e", harness.Renamed, harness.Prctl, title}})
	p.WaitOut(`^ready`)
	return p
}

func TestStatusOfAStoppedWorker(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := entitled(t, "drainit:stopped")
	const word = "running, but the worker is stopped"
	p.Ask("status").Want(0, `\A`+word+`: drainit\[1\], 0 processes below it\n\z`, "")
	p.Ask("status", "--ready").Want(1, `\A`+word+`\n\z`, "")
	if s := parsed(p.Ask("status", "--json")); s.Phase != "running" || s.Ready || !s.WorkerAlive || !s.WorkerStopped {
		t.Errorf("%+v", s)
	}
}

func TestQuietWithoutEffectSaysSo(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := entitled(t, "drainit:quiet?")
	for _, args := range [][]string{{"quiet"}, {"quiet", "--sleep=10ms"}} {
		p.Ask(args...).Want(0, "", `\Adrainit: quiet has no effect: no process handles SIGTSTP.*\n\z`)
	}
	p.Ask("status", "--ready").Want(1, `\Aquiet\n\z`, "")
	if s := parsed(p.Ask("status", "--json")); s.Phase != "quiet" || s.QuietHandled == nil || *s.QuietHandled {
		t.Errorf("%+v", s)
	}
}

// The stop signal, since when, and the time left are those that drainit goes by.
func TestStatusSaysTheStopAndTheTimeLeft(t *testing.T) {
	harness.Asked(t, func(t *testing.T, run func(harness.Launch) *harness.Container) {
		c := run(harness.Launch{Args: []string{"--grace=50s", "--", harness.WorkerBin, "listen", "-catch", "TERM,INT,USR1", "-end", "USR1", "-exit", "7"}})
		c.WaitReady()
		before := time.Now()
		c.Send(unix.SIGINT)
		c.WaitOut(`^got SIGINT`)
		stopPublished(t, c)
		c.Ask("status").Want(0, `\Adraining: drainit\[\d+\], SIGINT [0-9.]+s ago, SIGKILL in [0-9.]+s, 1 process below it\n`, "")
		s := parsed(c.Ask("status", "--json"))
		const rounded = time.Second
		after := time.Now()
		if s.StopSignal != "SIGINT" || s.StoppingSince.Before(before.Add(-rounded)) || s.StoppingSince.After(after.Add(rounded)) {
			t.Errorf("%+v, sent at %v, asked at %v", s, before, after)
		}
		if s.Left == nil || *s.Left > 50 || *s.Left < (50*time.Second-after.Sub(before)-rounded).Seconds() {
			t.Errorf("%+v, %v after the signal", s, after.Sub(before))
		}
		c.Send(unix.SIGUSR1)
		c.WantExit(7)
	})
}

// A worker that ended by itself leaves no stop signal, but a time.
func TestStatusSaysTheTimeLeftOfAWorkerThatEnded(t *testing.T) {
	workerEnded(t, func(t *testing.T, c *harness.Container) {
		c.Ask("status").Want(1, `\Adraining: drainit\[\d+\], the worker has ended, SIGKILL in [0-9.]+s, 1 process below it\n`, "")
		if s := parsed(c.Ask("status", "--json")); s.StopSignal != "" || s.StoppingSince.IsZero() || s.Left == nil || *s.Left > 30 {
			t.Errorf("%+v", s)
		}
	})
}
