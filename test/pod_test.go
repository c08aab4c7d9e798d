package test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a person or a script does with podman's commands to a container that has
// drainit as its first process.
func TestPodman(t *testing.T) {
	t.Parallel()
	e := startPodman(t, "")
	for name, test := range map[string]func(e podman){
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
			e.t = t
			test(e)
		})
	}
}

// worker starts drainit with the listening worker, and waits until that is ready.
func (e podman) worker(name string, flags, drainit []string, listen ...string) *Init {
	e.t.Helper()
	command := append([]string{"/drainit", "-v"}, drainit...)
	p := e.run(name, flags, append(append(command, "--", "/worker", "listen"), listen...)...)
	p.waitOut(`^ready`)
	return p
}

// The worker is signalled once, though it handles everything.
func podmanStop(e podman) {
	p := e.worker("stop", nil, nil, "-catch", "all", "-drain", "300ms")
	e.ask("stop", "stop")
	p.wantExit(0)
	p.wantGots("got SIGTERM")
	p.wantCount("drained", 1)
	p.wantLogged(killLine, 0)
}

// Quiet and back again, by signals from outside.
func podmanQuiet(e podman) {
	p := e.worker("quiet", nil, nil, "-catch", "TSTP,CONT,TERM")
	e.ask("kill", "--signal", "TSTP", "quiet")
	p.waitOut(`^got SIGTSTP`)
	e.wantStatus("quiet", "quiet")
	e.ask("kill", "--signal", "CONT", "quiet")
	p.waitOut(`^got SIGCONT`)
	e.wantStatus("quiet", "running")
	e.ask("stop", "quiet")
	p.wantExit(0)
	p.wantGots("got SIGTSTP", "got SIGCONT", "got SIGTERM")
}

// wantStatus checks the phase that the verb shows from inside a container, and
// that the verb succeeds.
func (e podman) wantStatus(name, phase string) {
	e.t.Helper()
	if status := e.exec(name, "/drainit", "status"); status.status != 0 || !strings.HasPrefix(status.out, phase+": drainit[") {
		e.t.Errorf("the status of %s is %+v, want %s", name, status, phase)
	}
}

// A second stop is a force-stop.
func podmanStopTwice(e podman) {
	p := e.worker("twice", nil, nil, "-drain", "1h")
	e.ask("kill", "--signal", "TERM", "twice")
	p.waitOut(`^got SIGTERM`)
	pastTheSameRequest()
	e.ask("stop", "twice")
	p.wantExit(137)
	p.wantLogged(`second stop signal, force-stop: killing worker`, 1)
	p.wantGots("got SIGTERM")
}

// What comes in a pause comes after it.
func podmanPause(e podman) {
	p := e.worker("pause", nil, nil, "-catch", "TERM,USR1", "-end", "USR1")
	pid := p.readyPid(`^ready`)
	e.ask("kill", "--signal", "TERM", "pause")
	p.waitOut(`^got SIGTERM`)
	e.ask("pause", "pause")
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		e.t.Fatal(err)
	}
	wantFrozen(e.t, pid)
	e.ask("unpause", "pause")
	p.wantExit(0)
	p.wantGots("got SIGTERM", "got SIGUSR1")
	p.wantLogged(killLine, 0)
}

// A grace goes on while the container is paused, as podman's own time does.
func podmanLongPause(e podman) {
	p := e.worker("longpause", nil, []string{"--grace", pausedGrace.String()}, "-drain", "1h")
	began := time.Now()
	e.ask("kill", "--signal", "TERM", "longpause")
	p.waitOut(`^got SIGTERM`)
	signalled := time.Now()
	e.ask("pause", "longpause")
	left := pausedGrace - time.Since(began) // at least
	time.Sleep(time.Until(signalled.Add(pausedGrace)))
	unpaused := time.Now()
	e.ask("unpause", "longpause")
	p.wantExit(137)
	wantTook(e.t, unpaused, 0, left/2) // it would take all of that if it had stood still
	p.wantLogged(`grace period of 20s over: killing worker`, 1)
}

// podman stop waits 10 s, less than drainit's own grace: the container is
// killed, and only the first line of the drain can say what was wrong.
func podmanDefaultTime(e podman) {
	p := e.worker("default", nil, nil, "-drain", "1h")
	began := time.Now()
	if out, err := e.command("stop", "default").CombinedOutput(); err != nil || !strings.Contains(string(out), "resorting to SIGKILL") {
		e.t.Errorf("podman stop: %v\n%s", err, out)
	}
	p.wantExit(137)
	wantTook(e.t, began, 10*time.Second, patience)
	p.wantLogged(`what still runs after 30s is killed`, 1)
	p.wantLogged(`grace of`, 0)
}

// A restart drains, and the next life knows nothing of it.
func podmanRestart(e podman) {
	e.detached("restart", nil, "-drain", "200ms")
	e.wantLogs("restart", `^ready`, 1)
	e.ask("restart", "restart")
	e.wantLogs("restart", `^ready`, 2)
	e.wantLogs("restart", `^drained`, 1)
	e.wantStatus("restart", "running") // nothing of the life before
	e.ask("stop", "restart")
	e.wantEnded("restart", 0)
}

// drainit never restarts a worker, but reports its status to what does.
func podmanRestartOnFailure(e podman) {
	e.detached("again", []string{"--restart", "on-failure:1"}, "-catch", "TERM,USR1", "-end", "USR1", "-exit", "3")
	e.wantLogs("again", `^ready`, 1)
	e.ask("kill", "--signal", "USR1", "again")
	e.wantLogs("again", `^ready`, 2)
	e.ask("kill", "--signal", "USR1", "again")
	e.wantEnded("again", 3)
}

// detached starts drainit with the listening worker in the background.
func (e podman) detached(name string, flags []string, listen ...string) {
	e.t.Helper()
	args := append(append([]string{"run", "--detach"}, e.runFlags(name)...), flags...)
	e.ask(append(append(args, image, "/drainit", "--", "/worker", "listen"), listen...)...)
}

// wantLogs waits until so many lines of a container's log match.
func (e podman) wantLogs(name, pattern string, want int) {
	e.t.Helper()
	re := regexp.MustCompile("(?m)" + pattern)
	waitUntil(e.t, fmt.Sprintf("%d times %q in the log", want, pattern), func() bool {
		out, err := e.command("logs", name).CombinedOutput()
		return err == nil && len(re.FindAll(out, -1)) == want
	})
}

// wantEnded waits until a container has ended for good, with this status.
func (e podman) wantEnded(name string, status int) {
	e.t.Helper()
	want := fmt.Sprintf("exited %d", status)
	waitUntil(e.t, name+" has "+want, func() bool {
		return e.ask("inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", name) == want
	})
}

// Not as PID 1, but in the host's namespace.
func podmanHostKill(e podman) {
	p := e.worker("hostkill", []string{"--pid", "host"}, nil, "-catch", "TSTP,TERM")
	e.wantStatus("hostkill", "running")
	if verb := e.exec("hostkill", "/drainit", "quiet"); verb.status != 0 {
		e.t.Errorf("the verb quiet: %+v", verb)
	}
	p.waitOut(`^got SIGTSTP`)
	e.wantStatus("hostkill", "quiet")
	e.ask("kill", "--signal", "TERM", "hostkill")
	p.wantExit(0)
	p.wantGots("got SIGTSTP", "got SIGTERM")
	p.wantNothingLeft()
}

// podman stop itself signals each process of a container that has no PID
// namespace of its own: what a worker does with a second TERM is its own affair.
func podmanHostStop(e podman) {
	p := e.worker("hoststop", []string{"--pid", "host"}, nil, "-drain", "300ms")
	e.ask("stop", "hoststop")
	p.wantExit(0)
	p.wantCount("drained", 1)
	p.wantNothingLeft()
}

// A health check must not fail in quiet or in a drain, or the worker is replaced.
func podmanHealth(e podman) {
	p := e.worker("health", []string{"--health-cmd", `["/drainit","status"]`, "--health-interval", "disable"}, nil, "-catch", "TSTP,TERM", "-drain", "1h")
	e.ask("healthcheck", "run", "health")
	e.ask("kill", "--signal", "TSTP", "health")
	p.waitOut(`^got SIGTSTP`)
	e.ask("healthcheck", "run", "health")
	e.ask("kill", "--signal", "TERM", "health")
	p.waitOut(`^got SIGTERM`)
	e.ask("healthcheck", "run", "health")
	e.ask("kill", "--signal", "KILL", "health")
	p.wantExit(137)
}

// A process of an exec is no leftover of the worker's.
func podmanExec(e podman) {
	p := e.worker("exec", nil, nil, "-drain", "200ms")
	e.ask("exec", "--detach", "--env", p.marker, "exec", "/worker", "listen", "-drain", "1h")
	waitUntil(e.t, "the exec runs", func() bool { return len(p.alive()) == 3 })
	e.ask("stop", "exec")
	p.wantExit(0)
	p.wantNothingLeft()
}

// podmanTerminal is `podman run -it`: Ctrl-C drains.
func podmanTerminal(e podman) {
	master, slave := openPty(e.t)
	p := newInit(e.t)
	args := append([]string{"run", "--interactive", "--tty", "--env", p.marker}, e.runFlags("terminal")...)
	p.cmd = e.command(append(args, image, "/drainit", "--", "/worker", "listen", "-catch", "INT,TERM", "-end", "INT", "-drain", "100ms")...)
	p.cmd.Stdin = slave
	p.start(slave, slave)
	p.stdout.eof = make(chan struct{})
	go p.stdout.read(master)
	p.waitOut(`^ready`)
	if _, err := master.WriteString("\x03"); err != nil {
		e.t.Fatal(err)
	}
	p.waitOut(`got SIGINT`) // behind the echo of what was typed
	p.wantExit(0)
}
