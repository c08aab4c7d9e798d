package platform

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// What a person or a script does with podman's commands to a container that has
// drainit as its first process.
func TestPodman(t *testing.T) {
	t.Parallel()
	e := harness.StartPodman(t, "")
	for name, test := range map[string]func(e harness.Podman){
		"stop":                               podmanStop,
		"kill -s TSTP and CONT":              podmanQuiet,
		"stop twice":                         podmanStopTwice,
		"pause in a drain":                   podmanPause,
		"the grace goes on in a pause":       podmanLongPause,
		"the default time of stop":           podmanDefaultTime,
		"-it and Ctrl-C":                     podmanTerminal,
		"restart":                            podmanRestart,
		"restart on failure":                 podmanRestartOnFailure,
		"--pid=host, kill":                   podmanHostKill,
		"--pid=host, stop":                   podmanHostStop,
		"a health check by the verb":         podmanHealth,
		"an exec that runs on holds nothing": podmanExec,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e
			e.T = t
			test(e)
		})
	}
}

// worker starts drainit with the listening worker, and waits until that is ready.
func worker(e harness.Podman, name string, flags, drainit []string, listen ...string) *harness.Init {
	e.T.Helper()
	command := append([]string{"/drainit", "-v"}, drainit...)
	p := e.Run(name, flags, append(append(command, "--", "/worker", "listen"), listen...)...)
	p.WaitOut(`^ready`)
	return p
}

// The worker is signalled once, though it handles everything.
func podmanStop(e harness.Podman) {
	p := worker(e, "stop", nil, nil, "-catch", "all", "-drain", "300ms")
	e.Ask("stop", "stop")
	p.WantExit(0)
	p.WantGots("got SIGTERM")
	p.WantCount("drained", 1)
	p.WantLogged(harness.KillLine, 0)
}

// Quiet and back again, by signals from outside.
func podmanQuiet(e harness.Podman) {
	p := worker(e, "quiet", nil, nil, "-catch", "TSTP,CONT,TERM")
	e.Ask("kill", "--signal", "TSTP", "quiet")
	p.WaitOut(`^got SIGTSTP`)
	wantStatus(e, "quiet", "quiet")
	e.Ask("kill", "--signal", "CONT", "quiet")
	p.WaitOut(`^got SIGCONT`)
	wantStatus(e, "quiet", "running")
	e.Ask("stop", "quiet")
	p.WantExit(0)
	p.WantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
}

// wantStatus checks the phase that the verb shows from inside a container, and
// that the verb succeeds.
func wantStatus(e harness.Podman, name, phase string) {
	e.T.Helper()
	if status := e.Exec(name, "/drainit", "status"); status.Status != 0 || !strings.HasPrefix(status.Out, phase+": drainit[") {
		e.T.Errorf("the status of %s is %+v, want %s", name, status, phase)
	}
}

// A second stop is a force-stop.
func podmanStopTwice(e harness.Podman) {
	p := worker(e, "twice", nil, nil, "-drain", "1h")
	e.Ask("kill", "--signal", "TERM", "twice")
	p.WaitOut(`^got SIGTERM`)
	harness.PastTheSameRequest()
	e.Ask("stop", "twice")
	p.WantExit(137)
	p.WantLogged(`second stop signal, force-stop: killing worker`, 1)
	p.WantGots("got SIGTERM")
}

// What comes in a pause comes after it.
func podmanPause(e harness.Podman) {
	p := worker(e, "pause", nil, nil, "-catch", "TERM,USR1", "-end", "USR1")
	pid := p.ReadyPid(`^ready`)
	e.Ask("kill", "--signal", "TERM", "pause")
	p.WaitOut(`^got SIGTERM`)
	e.Ask("pause", "pause")
	harness.Kill(e.T, pid, syscall.SIGUSR1)
	harness.WantFrozen(e.T, pid)
	e.Ask("unpause", "pause")
	p.WantExit(0)
	p.WantGots("got SIGTERM", "got SIGUSR1")
	p.WantLogged(harness.KillLine, 0)
}

// A grace goes on while the container is paused, as podman's own time does.
func podmanLongPause(e harness.Podman) {
	p := e.Run("longpause", nil, "/drainit", "--grace", pausedGrace.String(), "--", "/bin/busybox", "sh", "-c", drainsFor)
	p.WaitOut(`^ready`)
	e.Ask("kill", "--signal", "TERM", "longpause")
	p.WaitOut(`^got SIGTERM`)
	signalled := time.Now()
	e.Ask("pause", "longpause")
	time.Sleep(time.Until(signalled.Add(pausedGrace)))
	e.Ask("unpause", "longpause")
	p.WantExit(137)
	p.WantLogged(`grace period of 20s over: killing `, 1)
	p.WantCount("drained", 0)
}

// podman stop waits 10 s, less than drainit's own grace: the container is
// killed, and only the first line of the drain can say what was wrong.
func podmanDefaultTime(e harness.Podman) {
	p := worker(e, "default", nil, nil, "-drain", "1h")
	began := time.Now()
	if out, err := e.Command("stop", "default").CombinedOutput(); err != nil || !strings.Contains(string(out), "resorting to SIGKILL") {
		e.T.Errorf("podman stop: %v\n%s", err, out)
	}
	p.WantExit(137)
	harness.WantTookAtLeast(e.T, began, 10*time.Second)
	p.WantLogged(`what still runs after 30s is killed`, 1)
	p.WantLogged(`grace of`, 0)
}

// A restart drains, and the next life knows nothing of it.
func podmanRestart(e harness.Podman) {
	detached(e, "restart", nil, "-drain", "200ms")
	wantLogs(e, "restart", `^ready`, 1)
	e.Ask("restart", "restart")
	wantLogs(e, "restart", `^ready`, 2)
	wantLogs(e, "restart", `^drained`, 1)
	wantStatus(e, "restart", "running") // nothing of the life before
	e.Ask("stop", "restart")
	wantEnded(e, "restart", 0)
}

// drainit never restarts a worker, but reports its status to what does.
func podmanRestartOnFailure(e harness.Podman) {
	detached(e, "again", []string{"--restart", "on-failure:1"}, "-catch", "TERM,USR1", "-end", "USR1", "-exit", "3")
	wantLogs(e, "again", `^ready`, 1)
	e.Ask("kill", "--signal", "USR1", "again")
	wantLogs(e, "again", `^ready`, 2)
	e.Ask("kill", "--signal", "USR1", "again")
	wantEnded(e, "again", 3)
}

// detached starts drainit with the listening worker in the background.
func detached(e harness.Podman, name string, flags []string, listen ...string) {
	e.T.Helper()
	args := append(append([]string{"run", "--detach"}, e.RunFlags(name)...), flags...)
	e.Ask(append(append(args, harness.Image, "/drainit", "--", "/worker", "listen"), listen...)...)
}

// wantLogs waits until so many lines of a container's log match.
func wantLogs(e harness.Podman, name, pattern string, want int) {
	e.T.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	harness.WaitUntil(e.T, fmt.Sprintf("%d times %q in the log", want, pattern), func() bool {
		out, err := e.Command("logs", name).CombinedOutput()
		return err == nil && len(re.FindAll(out, -1)) == want
	})
}

// wantEnded waits until a container has ended for good, with this status.
func wantEnded(e harness.Podman, name string, status int) {
	e.T.Helper()
	want := fmt.Sprintf("exited %d", status)
	harness.WaitUntil(e.T, name+" has "+want, func() bool {
		return e.Ask("inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", name) == want
	})
}

// Not as PID 1, but in the host's namespace.
func podmanHostKill(e harness.Podman) {
	p := worker(e, "hostkill", []string{"--pid", "host"}, nil, "-catch", "TSTP,TERM")
	wantStatus(e, "hostkill", "running")
	if verb := e.Exec("hostkill", "/drainit", "quiet"); verb.Status != 0 {
		e.T.Errorf("the verb quiet: %+v", verb)
	}
	p.WaitOut(`^got SIGTSTP`)
	wantStatus(e, "hostkill", "quiet")
	e.Ask("kill", "--signal", "TERM", "hostkill")
	p.WantExit(0)
	p.WantGots("got SIGTSTP", "got SIGTERM")
	p.WantNothingLeft()
}

// podman stop itself signals each process of a container that has no PID
// namespace of its own: what a worker does with a second TERM is its own affair.
func podmanHostStop(e harness.Podman) {
	p := worker(e, "hoststop", []string{"--pid", "host"}, nil, "-drain", "300ms")
	e.Ask("stop", "hoststop")
	p.WantExit(0)
	p.WantCount("drained", 1)
	p.WantNothingLeft()
}

// A health check must not fail in quiet or in a drain, or the worker is replaced.
func podmanHealth(e harness.Podman) {
	p := worker(e, "health", []string{"--health-cmd", `["/drainit","status"]`, "--health-interval", "disable"}, nil, "-catch", "TSTP,TERM", "-drain", "1h")
	e.Ask("healthcheck", "run", "health")
	e.Ask("kill", "--signal", "TSTP", "health")
	p.WaitOut(`^got SIGTSTP`)
	e.Ask("healthcheck", "run", "health")
	e.Ask("kill", "--signal", "TERM", "health")
	p.WaitOut(`^got SIGTERM`)
	e.Ask("healthcheck", "run", "health")
	e.Ask("kill", "--signal", "KILL", "health")
	p.WantExit(137)
}

// A process of an exec is no leftover of the worker's.
func podmanExec(e harness.Podman) {
	p := worker(e, "exec", nil, nil, "-drain", "200ms")
	e.Ask("exec", "--detach", "--env", p.Marker, "exec", "/worker", "listen", "-drain", "1h")
	harness.WaitUntil(e.T, "the exec runs", func() bool { return len(p.Alive()) == 3 })
	e.Ask("stop", "exec")
	p.WantExit(0)
	p.WantNothingLeft()
}

// podmanTerminal is `podman run -it`: Ctrl-C drains.
func podmanTerminal(e harness.Podman) {
	master, slave := harness.OpenPty(e.T)
	p := harness.NewInit(e.T)
	args := append([]string{"run", "--interactive", "--tty", "--env", p.Marker}, e.RunFlags("terminal")...)
	p.Cmd = e.Command(append(args, harness.Image, "/drainit", "--", "/worker", "listen", "-catch", "INT,TERM", "-end", "INT", "-drain", "100ms")...)
	p.Cmd.Stdin = slave
	p.Start(slave, slave)
	p.Stdout.Eof = make(chan struct{})
	go p.Stdout.Read(master)
	p.WaitOut(`^ready`)
	if _, err := master.WriteString("\x03"); err != nil {
		e.T.Fatal(err)
	}
	p.WaitOut(`got SIGINT`) // behind the echo of what was typed
	p.WantExit(0)
}
