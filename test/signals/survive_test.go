package signals

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/test/harness"
	"drainit/test/harness/queued"
)

// sender is a worker that sends drainit a signal, waits until drainit passes USR2 on to it,
// and exits with 7. It ignores all others.
type sender struct {
	name    string
	first   bool // at once, and not when the title says that the worker runs
	command func(sig unix.Signal) []string
}

// senders send by both ways, from the worker's first instructions on and later. The Go runtime takes a
// fault that sigqueue(3) has sent for the kernel's.
func senders() []sender {
	worker := func(args ...string) func(unix.Signal) []string {
		return func(sig unix.Signal) []string {
			return append([]string{harness.WorkerBin, "send", args[0], fmt.Sprint(int(sig))}, args[1:]...)
		}
	}
	return []sender{
		{"kill, first", true, killsFirst},
		{"sigqueue, first", true, worker("queue")},
		{"kill, later", false, worker("kill", "drainit:run")},
		{"sigqueue, later", false, worker("queue", "drainit:run")},
	}
}

// killsFirst is a shell, which starts in half the time of a Go program.
func killsFirst(sig unix.Signal) []string {
	var ignored []string
	for _, other := range catchable {
		if other != unix.SIGUSR2 {
			ignored = append(ignored, fmt.Sprint(int(other)))
		}
	}
	return []string{"dash", "-c",
		fmt.Sprintf(`trap "" %s; trap "exit 7" USR2; kill -%d $PPID; kill -USR2 $PPID; while :; do sleep `+
			`0.01; done`,
			strings.Join(ignored, " "), sig)}
}

// survived reports whether drainit is to live on when a worker sends a signal. KILL and STOP
// do not reach PID 1 from inside, and nor do 32 and 34, for which the Go runtime has no handler.
func (s sender) survived(sig unix.Signal, noPID1 bool) bool {
	if slices.Contains(signals.Faults(), sig) {
		return strings.HasPrefix(s.name, "kill")
	}
	switch sig {
	case unix.SIGKILL, unix.SIGSTOP:
		return !noPID1
	case 32, 34:
		return !noPID1 || !s.first
	}
	return true
}

// sampled are signals of each kind: handled by the runtime as a fault, ignored, passed on, or
// not to be handled at all, a stop signal, and those that a terminal sends.
var sampled = []unix.Signal{unix.SIGHUP, unix.SIGQUIT, unix.SIGABRT, unix.SIGKILL, unix.SIGSEGV,
	unix.SIGPIPE, unix.SIGTERM,
	unix.SIGSTOP, unix.SIGTSTP, unix.SIGPROF, 32, 34, 63}

// No signal that a worker sends ends drainit but for those that stop it, and then the worker
// has its time. With -soak there are 50 starts of each kind:
//
//	go test ./test/signals -run NoSignalOfTheWorker -soak
func TestNoSignalOfTheWorkerEndsDrainit(t *testing.T) {
	harness.Usual(t)
	starts := harness.Of(2, 1)
	if *harness.SoakWhole {
		starts = 50
	}
	for _, sender := range senders() {
		t.Run(sender.name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				for sig := unix.Signal(1); sig < signals.ForceStop; sig++ {
					if left := harness.Of(0, 1) == 1 && !slices.Contains(sampled, sig); left ||
						!sender.survived(sig, noPID1) {
						continue
					}
					t.Run(signals.Name(sig), func(t *testing.T) {
						t.Parallel()
						for range starts {
							p := harness.Run(t,
								harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace},
									sender.command(sig)...)})
							p.WantExit(7)
						}
					})
				}
			})
		})
	}
}

// A drainit without a worker lives on, too: none ends a pod.
func TestNoSignalButAStopEndsAPause(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--pause"}})
		p.WaitTitle(title.Pause)
		harness.WaitUntil(t, "each signal is subscribed to",
			func() bool { return harness.SignalMask(t, p.Pid(), "SigCgt")&(1<<(unix.SIGCONT-1)) != 0 })
		for _, sig := range append(signals.Faults(), unix.SIGABRT, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1,
			unix.SIGTSTP, unix.SIGPIPE, unix.SIGALRM) {
			p.Signal(sig)
			if !slices.Contains(signals.Faults(), sig) {
				harness.Must(t, queued.Send(p.Pid(), sig))
			}
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(0)
	})
}
