package platform

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"drainit/test/harness"
)

// dockerListens starts a container whose worker listens, with flags of its own.
func dockerListens(t *testing.T, flags ...string) *harness.DockerContainer {
	t.Helper()
	c := harness.Docker(t).Run(t, append([]string{"--", "/drainit", "--", "/worker", "listen"}, flags...)...)
	c.WaitOut(`^ready`)
	return c
}

// wantLast checks the last lines that a worker has printed.
func wantLast(p *harness.Init, lines ...string) {
	p.T.Helper()
	if got, want := p.Out(), "\n"+strings.Join(lines, "\n")+"\n"; !strings.HasSuffix(got, want) {
		p.T.Errorf("the worker has printed %q, want %q at the end", got, want)
	}
}

// dockerKill sends a signal by docker kill, which the worker gets.
func dockerKill(c *harness.DockerContainer, sig string) {
	c.T.Helper()
	c.Do("kill", "--signal", sig)
	c.WaitOut(`^got SIG` + sig)
}

func TestDockerStopDrains(t *testing.T) {
	t.Parallel()
	c := dockerListens(t, "-drain", "300ms", "-exit", "3")
	c.Do("stop")
	c.WantExit(3)
	wantLast(c.Init, "got SIGTERM", "drained")
	if got := c.Inspect(".State.ExitCode"); got != "3" {
		t.Errorf("the engine knows of exit status %s", got)
	}
}

// The engine's ten seconds against drainit's thirty: the line is there before
// the kill, and says why it came.
func TestDockerStopIsShorterThanTheDefaultGrace(t *testing.T) {
	t.Parallel()
	c := dockerListens(t, "-drain", "1h")
	begin := time.Now()
	c.Do("stop")
	if took := time.Since(begin); took < 9*time.Second {
		t.Errorf("docker stop took %v, and waits 10s by default", took)
	}
	c.WantExit(137)
	c.WaitErr(`what still runs after 30s is killed`)
	if harness.Matches(harness.KillLine, c.Err()) {
		t.Errorf("drainit can't have seen the kill:\n%s", c.Err())
	}
}

func TestDockerStopWaitsLongerThanTheGrace(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--stop-timeout", "60", "--", "/drainit", "--grace", "1s", "--", "/worker", "listen", "-drain", "1h")
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(137)
	c.WaitErr(`grace period of 1s over`)
}

func TestDockerStopTwiceKills(t *testing.T) {
	t.Parallel()
	c := dockerListens(t, "-drain", "1h")
	first := c.Begin("stop", "--time", "60")
	c.WaitOut(`^got SIGTERM`)
	harness.PastTheSameRequest()
	c.Do("stop", "--time", "60")
	c.WantExit(137)
	c.WaitErr(`second stop signal, force-stop`)
	first.WantExit(0)
}

func TestDockerKillSendsTSTPAndCONT(t *testing.T) {
	t.Parallel()
	c := dockerListens(t, "-catch", "TERM,TSTP,CONT")
	dockerKill(c, "TSTP")
	dockerKill(c, "CONT")
	c.Do("stop")
	c.WantExit(0)
	wantLast(c.Init, "got SIGTSTP", "got SIGCONT", "got SIGTERM", "drained")
}

// No state outlives drainit: a container that was quiet, and drained, runs anew.
func TestDockerRestartRunsAnew(t *testing.T) {
	t.Parallel()
	c := dockerListens(t, "-catch", "TERM,TSTP")
	dockerKill(c, "TSTP")
	c.Do("restart")
	harness.WaitUntil(t, "the worker is ready again", func() bool { return strings.Count(c.Do("logs"), "ready ") == 2 })
	c.Do("kill", "--signal", "TSTP")
	harness.WaitUntil(t, "the worker is quiet again", func() bool { return strings.Count(c.Do("logs"), "got SIGTSTP") == 2 })
	c.Do("stop")
	log := c.Do("logs")
	if _, second, _ := strings.Cut(log, "drained"); !strings.HasSuffix(second, "\ngot SIGTSTP\ngot SIGTERM\ndrained") {
		t.Errorf("the second run did not go as the first:\n%s", log)
	}
	if got := c.Inspect(".State.ExitCode"); got != "0" {
		t.Errorf("exit status %s", got)
	}
}

// The job ends when there is a file, which the test makes in the pause.
func TestDockerPauseInADrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := harness.Docker(t).Run(t, "--volume", dir+":/job", "--", "/drainit", "--", "sh", "-c",
		`trap 'echo got SIGTERM; while [ ! -e /job/done ]; do sleep 0.1; done; echo drained; exit 3' TERM; echo ready; while :; do sleep 0.1; done`)
	c.WaitOut(`^ready`)
	stop := c.Begin("stop", "--time", "60")
	c.WaitOut(`^got SIGTERM`)
	c.Do("pause")
	harness.WriteFile(t, filepath.Join(dir, "done"), nil)
	if got := c.Inspect(".State.Paused"); got != "true" { // the engine has waited for that
		t.Errorf("paused: %s", got)
	}
	c.Do("unpause")
	c.WantExit(3)
	stop.WantExit(0)
	c.WaitOut(`^drained`)
}

// pausedGrace is the grace of a container that is paused in it: much longer than calls
// of the platform's commands take.
const pausedGrace = 20 * time.Second

// drainsFor is a worker whose drain of 12 s stands still in a pause, as no single sleep does:
// it would come to its end if the grace stood still with it.
const drainsFor = `trap 'echo got SIGTERM; n=0; while [ $n -lt 120 ]; do sleep 0.1; n=$((n+1)); done; echo drained; exit' TERM; echo ready; while :; do sleep 0.1; done`

// As the platform's own time does.
func TestDockerPauseDoesNotStopTheGrace(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--", "/drainit", "--grace", pausedGrace.String(), "--", "sh", "-c", drainsFor)
	c.WaitOut(`^ready`)
	stop := c.Begin("stop", "--time", "60")
	c.WaitOut(`^got SIGTERM`)
	signalled := time.Now()
	c.Do("pause")
	time.Sleep(time.Until(signalled.Add(pausedGrace)))
	c.Do("unpause")
	c.WantExit(137)
	c.WaitErr(`grace period of 20s over`)
	c.WantCount("drained", 0)
	stop.WantExit(0)
}

func TestDockerRestartsOnFailure(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--restart", "on-failure:2", "--", "/drainit", "--", "sh", "-c", "echo run; exit 3")
	c.WaitOut(`^run`)
	harness.WaitUntil(t, "three runs", func() bool { return c.Inspect(".RestartCount") == "2" && c.Inspect(".State.Running") == "false" })
	if got := c.Do("logs"); got != "run\nrun\nrun" {
		t.Errorf("the container printed:\n%s", got)
	}
	if got := c.Inspect(".State.ExitCode"); got != "3" {
		t.Errorf("exit status %s", got)
	}
}

// terminal runs a container at a terminal, where keys types.
func terminal(t *testing.T, d *harness.Dockerd, flags []string, command ...string) (c *harness.DockerContainer, keys func(string)) {
	t.Helper()
	master, slave := harness.OpenPty(t)
	c = d.Attach(t, slave, "base", flags, command...)
	c.Stdout.Eof = make(chan struct{})
	go c.Stdout.Read(master)
	return c, func(text string) {
		t.Helper()
		if _, err := master.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDockerTerminalInteractiveShell(t *testing.T) {
	t.Parallel()
	c, keys := terminal(t, harness.Docker(t), []string{"--interactive", "--tty"}, "/drainit", "--", "sh")
	keys("echo $((40+2)); exit 5\n")
	c.WaitOut(`^42\r`)
	c.WantExit(5)
}

func TestDockerTerminalCtrlCDrainsAndOnceMoreKills(t *testing.T) {
	t.Parallel()
	c, keys := terminal(t, harness.Docker(t), []string{"--interactive", "--tty"},
		"/drainit", "--", "/worker", "listen", "-catch", "INT", "-end", "INT", "-drain", "1h")
	c.WaitOut(`^ready`)
	keys("\x03")
	c.WaitOut(`got SIGINT`)
	c.WaitOut(`drainit: stopping: .*; what still runs after 30s is killed`)
	harness.PastTheSameRequest()
	keys("\x03")
	c.WaitOut(`drainit: warning: second stop signal, force-stop`)
	c.WantExit(137)
}

func TestDockerTerminalWithoutInput(t *testing.T) {
	t.Parallel()
	c, _ := terminal(t, harness.Docker(t), []string{"--tty"}, "/drainit", "--", "/worker", "listen", "-drain", "300ms")
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(0)
	c.WaitOut(`^drained`)
	c.WaitOut(`^drainit: stopped after `) // as text: it is a terminal
	if got := strings.Count(c.Stdout.Text(), "got SIGTERM"); got != 1 {
		t.Errorf("signalled %d times", got)
	}
}
