package stress

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// The grace of each scene: as long as a drain takes there, many times, but for the one in which
// it is to be over.
const (
	faultGrace = 15 * time.Second
	overGrace  = 2 * time.Second
)

// faultScene is a life of a worker, in which each system call that drainit makes can
// fail. The worker prints "ready" or "ran" when it runs.
type faultScene struct {
	name   string
	status int // drainit's exit status where nothing fails
	args   func(t *testing.T) []string
	drive  func(d *driver)
	noPID1 bool

	without faulted // what comes of it where nothing fails
	calls   []made  // and the calls that drainit makes
}

// faultScenes are, between them, every kind of work that drainit does.
func faultScenes() []*faultScene {
	var all []*faultScene
	for _, s := range []faultScene{
		{name: "signals", status: 7, args: signalsArgs, drive: driveSignals},
		{name: "orphans", status: 7, args: orphansArgs, drive: driveStop},
		{name: "kill", status: 137, args: killArgs, drive: driveStop},
		{name: "leaves", status: 3, args: leavesArgs, drive: driveInput},
		{name: "script", status: 3, args: scriptArgs, drive: func(*driver) {}},
		{name: "terminal", status: 3, args: terminalArgs, drive: driveInput},
		{name: "probes", status: 7, args: probesArgs, drive: driveProbe},
	} {
		other := s
		other.noPID1 = true
		all = append(all, &s, &other)
	}
	return all
}

func (s *faultScene) String() string {
	if s.noPID1 {
		return s.name + ", not PID 1"
	}
	return s.name + ", PID 1"
}

// ownLog stands in the arguments of a strace for the scene's termination log.
const ownLog = "{termination-log}"

// start starts the scene under a strace.
func (s *faultScene) start(t *testing.T, strace []string) *driver {
	t.Helper()
	l := harness.Launch{NoPID1: s.noPID1, Args: s.args(t), Trace: strace}
	if i := slices.Index(strace, ownLog); i > 0 {
		strace[i] = l.Args[slices.Index(l.Args, "--termination-log")+1]
	}
	d := &driver{args: l.Args}
	if s.name == "terminal" {
		var slave *os.File
		d.input, slave = harness.OpenPty(t)
		l = harness.OnThis(slave, l)
	} else {
		l.Stdin, d.input = harness.Pipe(t)
	}
	d.Init = harness.Run(t, l)
	return d
}

func signalsArgs(*testing.T) []string {
	return []string{grace(faultGrace), "--", harness.WorkerBin, "listen", "-catch", "USR1,TSTP,CONT,TERM", "-exit", "7"}
}

func driveSignals(d *driver) {
	if !d.ready() {
		return
	}
	d.tell(unix.SIGUSR1, `got SIGUSR1`)
	d.tell(unix.SIGTSTP, `got SIGTSTP`)
	d.tell(unix.SIGCONT, `got SIGCONT`)
	d.stop()
}

// A shell dies, its child drains and is the worker's successor.
func orphansArgs(*testing.T) []string {
	return []string{grace(faultGrace), "--", "dash", "-c", `"$0" listen -drain 10ms -exit 7; true`, harness.WorkerBin}
}

func driveStop(d *driver) {
	if d.ready() {
		d.stop()
	}
}

// A shell ignores the stop signal, and its child goes on, so that the grace kills them: the
// child for itself, for it is in no group of the worker's.
func killArgs(t *testing.T) []string {
	log := filepath.Join(t.TempDir(), "termination-log")
	harness.WriteFile(t, log, nil)
	return []string{grace(overGrace), "--termination-log", log, "--", "dash", "-c", `trap "" TERM; setsid "$0" listen -catch TERM,USR1 -end USR1; true`, harness.WorkerBin}
}

// The worker exits, which the driver has it do by its input, and leaves a child.
func leavesArgs(*testing.T) []string {
	return []string{grace(faultGrace), "--", "dash", "-c", `"$0" listen -drain 10ms -exit 7 & read line; exit 3`, harness.WorkerBin}
}

func driveInput(d *driver) {
	if d.ready() {
		_, _ = d.input.WriteString("\n")
	}
	if !d.reaches(`^(drained|ran)`) { // a fault has kept the worker from it
		d.stop()
	}
}

// The worker reads the terminal, which drainit lends it for that.
func terminalArgs(*testing.T) []string {
	return []string{grace(faultGrace), "--", "dash", "-c", "echo ready; read line; echo ran; exit 3"}
}

// A probe asks whether the worker is healthy.
func probesArgs(t *testing.T) []string {
	addr := fmt.Sprintf("127.0.0.1:%d", harness.ReservePort(t))
	return []string{grace(faultGrace), "--health-addr", addr, "--", harness.WorkerBin, "listen", "-exit", "7"}
}

func driveProbe(d *driver) {
	if !d.ready() {
		return
	}
	d.comes(d.answers, func() bool { return harness.Comm(d.Pid()) == "drainit:run" })
	answer := make(chan string, 1)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask, giveUp := context.WithCancel(context.Background())
	go func() {
		answer <- statusOf(ask, &client, "http://"+d.args[slices.Index(d.args, "--health-addr")+1]+"/healthz")
	}()
	d.comes(d.answers, func() bool { return len(answer) > 0 })
	giveUp()
	d.answer = <-answer
	client.CloseIdleConnections()
	d.stop()
}

// statusOf is that of an answer, empty where there is none.
func statusOf(ask context.Context, client *http.Client, url string) string {
	request, err := http.NewRequestWithContext(ask, http.MethodGet, url, nil)
	if err != nil {
		return ""
	}
	answer, err := client.Do(request)
	if err != nil {
		return ""
	}
	answer.Body.Close()
	return answer.Status
}

func grace(d time.Duration) string { return "--grace=" + d.String() }

// A script that does not say what runs it.
func scriptArgs(t *testing.T) []string {
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("echo ran\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"-p", "TERM", "--", file}
}
