package test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestDockerStopDrains(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-drain", "300ms", "-exit", "3")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(3)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("not signalled once, or not drained:\n%s", got)
	}
	if got := c.inspect(".State.ExitCode"); got != "3" {
		t.Errorf("the engine knows of exit status %s", got)
	}
}

// The engine's ten seconds against drainit's thirty: the line is there before
// the kill, and says why it came.
func TestDockerStopIsShorterThanTheDefaultGrace(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-drain", "1h")
	c.waitOut(`^ready`)
	begin := time.Now()
	c.do("stop")
	if took := time.Since(begin); took < 9*time.Second || took > 20*time.Second {
		t.Errorf("docker stop took %v, and waits 10s by default", took)
	}
	c.wantExit(137)
	c.waitErr(`what still runs after 30s is killed`)
	if matches(killLine, c.err()) {
		t.Errorf("drainit can't have seen the kill:\n%s", c.err())
	}
}

func TestDockerStopWaitsLongerThanTheGrace(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--stop-timeout", "60", "--", "/drainit", "--grace", "1s", "--", "/worker", "listen", "-drain", "1h")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(137)
	c.waitErr(`grace period of 1s over`)
}

func TestDockerStopTwiceKills(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-drain", "1h")
	c.waitOut(`^ready`)
	first := c.begin("stop", "--time", "60")
	c.waitOut(`^got SIGTERM`)
	pastTheSameRequest()
	begin := time.Now()
	c.do("stop", "--time", "60")
	if took := time.Since(begin); took > atOnce {
		t.Errorf("the second stop took %v", took)
	}
	c.wantExit(137)
	c.waitErr(`second stop signal, force-stop`)
	first.wantExit(0)
}

func TestDockerKillSendsTSTPAndCONT(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-catch", "TERM,TSTP,CONT")
	c.waitOut(`^ready`)
	c.do("kill", "--signal", "TSTP")
	c.waitOut(`^got SIGTSTP`)
	c.do("kill", "--signal", "CONT")
	c.waitOut(`^got SIGCONT`)
	c.do("stop")
	c.wantExit(0)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTSTP\ngot SIGCONT\ngot SIGTERM\ndrained\n") {
		t.Errorf("the worker got something else:\n%s", got)
	}
}

// No state outlives drainit: a container that was quiet, and drained, runs anew.
func TestDockerRestartRunsAnew(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--", "/worker", "listen", "-catch", "TERM,TSTP")
	c.waitOut(`^ready`)
	c.do("kill", "--signal", "TSTP")
	c.waitOut(`^got SIGTSTP`)
	c.do("restart")
	waitUntil(t, "the worker is ready again", func() bool { return strings.Count(c.do("logs"), "ready ") == 2 })
	c.do("kill", "--signal", "TSTP")
	waitUntil(t, "the worker is quiet again", func() bool { return strings.Count(c.do("logs"), "got SIGTSTP") == 2 })
	c.do("stop")
	log := c.do("logs")
	if _, second, _ := strings.Cut(log, "drained"); !strings.HasSuffix(second, "\ngot SIGTSTP\ngot SIGTERM\ndrained") {
		t.Errorf("the second run did not go as the first:\n%s", log)
	}
	if got := c.inspect(".State.ExitCode"); got != "0" {
		t.Errorf("exit status %s", got)
	}
}

// The job ends when there is a file, which the test makes in the pause.
func TestDockerPauseInADrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := docker(t).run(t, "--volume", dir+":/job", "--", "/drainit", "--", "sh", "-c",
		`trap 'echo got SIGTERM; while [ ! -e /job/done ]; do sleep 0.1; done; echo drained; exit 3' TERM; echo ready; while :; do sleep 0.1; done`)
	c.waitOut(`^ready`)
	stop := c.begin("stop", "--time", "60")
	c.waitOut(`^got SIGTERM`)
	c.do("pause")
	writeFile(t, filepath.Join(dir, "done"), nil)
	if got := c.inspect(".State.Paused"); got != "true" { // the engine has waited for that
		t.Errorf("paused: %s", got)
	}
	c.do("unpause")
	c.wantExit(3)
	stop.wantExit(0)
	c.waitOut(`^drained`)
}

// pausedGrace is the grace of a container that is paused in it: much longer than calls
// of the platform's commands take.
const pausedGrace = 20 * time.Second

// As the platform's own time does.
func TestDockerPauseDoesNotStopTheGrace(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--", "/drainit", "--grace", pausedGrace.String(), "--", "/worker", "listen", "-drain", "1h")
	c.waitOut(`^ready`)
	begin := time.Now()
	stop := c.begin("stop", "--time", "60")
	c.waitOut(`^got SIGTERM`)
	signalled := time.Now()
	c.do("pause")
	left := pausedGrace - time.Since(begin) // at least
	time.Sleep(time.Until(signalled.Add(pausedGrace)))
	unpaused := time.Now()
	c.do("unpause")
	c.wantExit(137)
	wantTook(t, unpaused, 0, left/2) // it would take all of that if it had stood still
	c.waitErr(`grace period of 20s over`)
	stop.wantExit(0)
}

func TestDockerRestartsOnFailure(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--restart", "on-failure:2", "--", "/drainit", "--", "sh", "-c", "echo run; exit 3")
	c.waitOut(`^run`)
	waitUntil(t, "three runs", func() bool { return c.inspect(".RestartCount") == "2" && c.inspect(".State.Running") == "false" })
	if got := c.do("logs"); got != "run\nrun\nrun" {
		t.Errorf("the container printed:\n%s", got)
	}
	if got := c.inspect(".State.ExitCode"); got != "3" {
		t.Errorf("exit status %s", got)
	}
}
