package stress

import (
	"fmt"
	"strings"
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
	args   string
	drive  func(d *driver)
	noPID1 bool

	without faulted // what comes of it where nothing fails
	calls   []made  // and the calls that drainit makes
}

// faultScenes are, between them, every kind of work that drainit does.
func faultScenes() []*faultScene {
	var all []*faultScene
	for _, s := range []faultScene{
		{name: "signals", status: 7, drive: driveSignals,
			args: "--grace=GRACE -- WORKER listen -catch USR1,TSTP,CONT,TERM -exit 7"},
		// A shell dies, its child drains and is the worker's successor.
		{name: "orphans", status: 7, drive: (*driver).stop,
			args: `--grace=GRACE -- dash -c '"$0" listen -drain 10ms -exit 7; true' WORKER`},
		// A shell ignores the stop signal, and its child goes on, so that the grace kills them: the child for
		// itself, for it is in no group of the worker's.
		{name: "kill", status: 137, drive: (*driver).stop,
			args: "--grace=OVER -- dash -c " +
				`'trap "" TERM; setsid "$0" listen -catch TERM,USR1 -end USR1; true' WORKER`},
		// The worker exits, which the driver has it do by its input, and leaves a child.
		{name: "leaves", status: 3, drive: driveInput,
			args: `--grace=GRACE -- dash -c '"$0" listen -drain 10ms -exit 7 & read line; exit 3' WORKER`},
		// A script that does not say what runs it.
		{name: "script", status: 3, drive: func(*driver) {}, args: "-p TERM -- SCRIPT"},
		// The worker reads the terminal, which drainit lends it for that.
		{name: "terminal", status: 3, drive: driveInput,
			args: "--grace=GRACE -- dash -c 'echo ready; read line; echo ran; exit 3'"},
		// A probe asks whether the worker is healthy.
		{name: "probes", status: 7, drive: driveProbe,
			args: "--health-addr ADDR --grace=GRACE -- WORKER listen -exit 7"},
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

// start starts the scene under a strace.
func (s *faultScene) start(t *testing.T, strace []string) *driver {
	t.Helper()
	fill := strings.NewReplacer("GRACE", faultGrace.String(), "OVER", overGrace.String(),
		"ADDR", fmt.Sprint("127.0.0.1:", harness.ReservePort(t)),
		"SCRIPT", harness.WriteProgram(t, t.TempDir(), "script", 0o755, "echo ran\nexit 3\n"))
	l := harness.Launch{NoPID1: s.noPID1, Args: harness.Words(fill.Replace(s.args)), Trace: strace}
	d := &driver{args: l.Args}
	if s.name == "terminal" {
		d.input, l.TTY = harness.NewTerminal(t)
	} else {
		l.Stdin, d.input = harness.Pipe(t)
	}
	d.Init = harness.Run(t, l)
	return d
}

func driveSignals(d *driver) {
	d.tell(unix.SIGUSR1, `got SIGUSR1`)
	d.tell(unix.SIGTSTP, `got SIGTSTP`)
	d.tell(unix.SIGCONT, `got SIGCONT`)
	d.stop()
}

func driveInput(d *driver) {
	_, _ = d.input.WriteString("\n")
	if !d.reaches(`^(drained|ran)`) { // a fault has kept the worker from it
		d.stop()
	}
}

func driveProbe(d *driver) {
	d.comes(d.answers, func() bool { return harness.Comm(d.Pid()) == "drainit:run" })
	answer := make(chan string, 1)
	go func() {
		got, _ := harness.Get("http://" + d.args[1] + "/healthz") // which ends with drainit
		answer <- got
	}()
	if d.comes(d.answers, func() bool { return len(answer) > 0 }) {
		d.answer = <-answer
	}
	d.stop()
}
