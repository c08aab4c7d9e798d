package platform

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// What an exec runs is not drainit's: it is neither signalled nor waited for. A process that an exec
// leaves in the background becomes drainit's child: it is signalled once, when the worker has gone,
// and waited for.
func TestDockerExecs(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--", "/drainit", "-v", "--", "/worker", "listen", "-drain", "300ms")
	c.WaitOut(`^ready`)
	running := c.D.Begin(t, "exec", c.Name, "/worker", "listen", "-drain", "1h")
	running.WaitOut(`^ready`)
	c.Exec("sh", "-c", "/worker listen -name left: -drain 300ms >/proc/1/fd/2 2>&1 &")
	c.WaitErr(`^left:ready`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	wantLast(c.Init, "got SIGTERM", "drained")
	c.WantLogged(`^left:got SIGTERM$`, 1)
	c.WantLogged(`^left:drained$`, 1)
	running.WantExit(137)
	running.WantGots()
}

// Two drainits in one PID namespace: each verb finds its own container's.
func TestDockerSharedPIDNamespace(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	worker := []string{"--", "/drainit", "--", "/worker", "listen", "-catch", "TERM,TSTP"}
	first := d.Run(t, worker...)
	first.WaitOut(`^ready`)
	second := d.Run(t, append([]string{"--pid", "container:" + first.Name}, worker...)...)
	second.WaitOut(`^ready`)
	second.Exec("/drainit", "quiet")
	second.WaitOut(`^got SIGTSTP`)
	docker(t).wantStatus(t, first.Name, "running")
	docker(t).wantStatus(t, second.Name, "quiet")
	second.Do("stop")
	second.WantExit(0)
	second.WantGots("got SIGTSTP", "got SIGTERM")
	if status := d.Begin(t, "exec", first.Name, "/drainit", "stop").Wait(); status != 0 && status != 137 { // 137: it ends with drainit
		t.Errorf("the verb's exit status is %d", status)
	}
	first.WantExit(0)
	first.WantGots("got SIGTERM")
}

// With the PID namespace of the machine (here: of the engine, which is the tests' own) drainit is
// not PID 1. It sees all processes, and signals and kills only its own.
func TestDockerHostPIDNamespace(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	other := d.Run(t, "--", "/drainit", "--", "/worker", "listen")
	other.WaitOut(`^ready`)
	c := d.Run(t, "--pid", "host", "--", "/drainit", "--grace", "3s", "--",
		"sh", "-c", "setsid sh -c '(trap \"\" TERM; echo stubborn; exec sleep 1000) & exec /worker listen -name daemon:' & exec /worker listen")
	c.WaitOut(`^ready`)
	c.WaitOut(`^daemon:ready`)
	c.WaitOut(`^stubborn`)
	if got := c.Exec("sh", "-c", "ps | grep -c '[d]ockerd'"); got == "0" {
		t.Error("the container does not see the engine")
	}
	if got := c.Exec("/drainit", "status"); !strings.HasPrefix(got, "running: drainit[") || strings.Contains(got, "[1]") {
		t.Errorf("the status is another's:\n%s", got) // PID 1 here is the drainit above the engine
	}
	c.Do("stop", "--time", "60")
	c.WantExit(137) // for the stubborn one
	c.WaitErr(`killed.*sleep`)
	c.WantCount("got SIGTERM", 1)
	c.WantCount("daemon:got SIGTERM", 1)
	other.Do("stop") // by an engine that lives
	other.WantExit(0)
	wantLast(other.Init, "got SIGTERM", "drained")
}

// Root has no CAP_SYS_PTRACE in a container of Docker's, so that what another user's
// processes run, read and sleep in is hidden from it. It is known all the same.
func TestWorkerOfAnotherUserInDocker(t *testing.T) {
	harness.NeedRoot(t)
	harness.Need(t, "setpriv", "perl", "bash", "dash", "tee", "timeout")
	worker := harness.WorkerBin + " listen -catch TERM,INT -end TERM,INT -drain 500ms -exit 7"
	for _, tt := range []struct {
		name, shell, script string
		signal              syscall.Signal
		status              int
	}{
		{"a reader of a pipe", "dash", worker + ` | tee`, unix.SIGTERM, 7},
		{"a named pipe, and a reader with a handler", "dash",
			`mkfifo f; perl -pe 'BEGIN { $| = 1; $SIG{TERM} = sub { exit } }' <f & ` + worker + ` >f`, unix.SIGTERM, 7},
		{"a relay that signals its group", "timeout 300 dash", worker + `; exit $?`, unix.SIGTERM, 143},
		{"INT to a script", "bash", worker + `; exit $?`, unix.SIGINT, 7},
		{"a shell that waits in the foreground", "dash", `trap 'exit 3' TERM; ` + worker + `; :`, unix.SIGTERM, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "drainit-owner-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			harness.GiveToNobody(t, dir)
			in, _ := harness.Pipe(t)
			p := harness.Run(t, harness.Launch{Setup: harness.Setup{Docker: true}, Dir: dir, Stdin: in,
				Args: harness.Line([]string{"-v", "--grace", "60s"}, slices.Concat(harness.AsNobody, strings.Fields(tt.shell), []string{"-c", tt.script})...)})
			p.WaitOut(`^ready`)
			p.WaitStarted(harness.Patience) // what is beside the worker, too
			p.Signal(tt.signal)
			p.WantExit(tt.status)
			p.WantGots("got " + unix.SignalName(tt.signal))
			p.WantCount("drained", 1)
			p.WantLogged(`grace is nearly over`, 0)
			p.WantNothingLeft()
		})
	}
}
