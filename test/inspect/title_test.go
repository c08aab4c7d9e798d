package inspect

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// titleReader is a worker that prints what its parent is called in the moment
// in which it handles a signal.
const titleReader = `
sub title { open my $f, "<", "/proc/" . getppid . "/comm" or die $!; my $t = <$f>; chomp $t; $t }
for my $s (qw(TSTP CONT TERM)) { $SIG{$s} = sub { say "$s under " . title; exit 7 if $s eq "TERM" } }
say "ready"; forever`

func TestTitleHasChangedBeforeTheWorkerIsSignalled(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, harness.Script(titleReader)...)})
		p.WaitReady()
		wantSteps(p, []step{
			{unix.SIGTSTP, "TSTP under drainit:quiet\n"},
			{unix.SIGCONT, "CONT under drainit:run\n"},
			{unix.SIGTSTP, "TSTP under drainit:quiet\n"},
			{unix.SIGTERM, "TERM under drainit:drain\n"},
		})
	})
}

// step is a signal to drainit, and the line that its worker prints when it handles that.
type step struct {
	sig  syscall.Signal
	says string
}

// wantSteps takes the steps, by the last of which the worker exits with 7.
func wantSteps(p *harness.Init, steps []step) {
	p.T.Helper()
	want := "ready\n"
	for i, step := range steps {
		p.Signal(step.sig)
		p.WaitOut(fmt.Sprintf(`\A(.*\n){%d}`, i+2))
		want += step.says
	}
	p.WantExit(7)
	if p.Out() != want {
		p.T.Errorf("stdout:\n%s\nwant:\n%s", p.Out(), want)
	}
}

// The worker above may be slow to look. The system calls have an order.
func TestTitleIsSetBeforeTheSignalIsSent(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	file := filepath.Join(t.TempDir(), "trace")
	p := harness.Run(t, harness.Launch{NoPID1: true, Bin: harness.PathOf(t, "strace"), Args: []string{"-f", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace=prctl,kill,tgkill,pidfd_send_signal", "-o", file, harness.DrainitBin, harness.LongGrace, "--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM", "-exit", "7"}})
	p.WaitOut(`^ready`)
	drainit := p.FirstChild()
	harness.WaitTitle(t, drainit, "drainit:run")
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGCONT, unix.SIGTERM} {
		harness.Kill(t, drainit, sig)
		p.WaitOut(`^got ` + unix.SignalName(sig))
	}
	p.WantExit(7)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, m := range regexp.MustCompile(`"drainit:(\w+)"|, (SIG(?:TSTP|CONT|TERM))\b`).FindAllStringSubmatch(string(b), -1) {
		order = append(order, m[1]+m[2])
	}
	if got := strings.Join(order, " "); got != "start run quiet SIGTSTP run SIGCONT drain SIGTERM" {
		t.Errorf("%s\n%s", got, b)
	}
}

// A stop delay is a drain that has not signalled the worker yet.
func TestTitleDuringAStopDelayIsThatOfADrain(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace, "--stop-delay=5m"}, harness.Script(titleReader)...)})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^TSTP under drainit:drain$`)
		harness.PastTheSameRequest(p)
		p.Signal(unix.SIGTERM)
		p.WantExit(137)
	})
}

// Probes must not find a drainit before there is a worker.
func TestTitleComesWithTheWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen"}})
		// The second is what sets the stage. An exec closes descriptors before it sets the name.
		order, seen := []string{harness.Comm(os.Getpid()), "worker", "drainit", "drainit:start", "drainit:run"}, 0
		for deadline := time.Now().Add(harness.Patience); order[seen] != "drainit:run"; {
			title := harness.Comm(p.Pid())
			i := slices.Index(order, title)
			if i < seen || time.Now().After(deadline) {
				t.Fatalf("the title is %q, and was %q before", title, order[seen])
			}
			seen = max(seen, i)
		}
		p.Signal(unix.SIGTERM)
		p.Wait()
	})
}

func TestTitleOfLeftoversThatDrain(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := harness.Leaving(t, noPID1, harness.LongGrace)
		p.WaitOut(`^child got TERM`)
		p.WaitTitle("drainit:ended")
		p.Signal(unix.SIGTERM) // the first
		p.WaitErr(`the grace period starts now`)
		p.WantTitle("drainit:ended")
		release()
		p.WantExit(5)
	})
}

// launchHeld starts drainit with a worker that drains until it is released, as descriptor 3
// is held open for it.
func launchHeld(t *testing.T, noPID1 bool, flags []string, command ...string) (p *harness.Init, release func()) {
	t.Helper()
	hold, free := harness.Pipe(t)
	p = harness.Run(t, harness.Launch{NoPID1: noPID1, Files: []*os.File{hold}, Args: harness.Line(flags, command...)})
	return p, func() { free.Close() }
}

// wantDrainTitle waits for the drain of such a worker, and for the end.
func wantDrainTitle(p *harness.Init, release func(), status int) {
	p.T.Helper()
	p.WaitOut(`^worker got TERM`)
	p.WantTitle("drainit:drain")
	release()
	p.WantExit(status)
}

// The worker of such a drain lives on in its successor.
func TestTitleOfASuccessionIsThatOfADrain(t *testing.T) {
	harness.Need(t, "dash")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := launchHeld(t, noPID1, []string{"-v", harness.LongGrace},
			append([]string{"dash", "-c", `"$@"; exit $?`, "dash"}, harness.Script(`catch "TERM"; say "ready"; await "TERM"; hold 3; exit 9`)...)...)
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTERM)
		p.WaitErr(`perl\[\d+\] is the worker now`)
		wantDrainTitle(p, release, 9)
	})
}

// With two that could be it there is none.
func TestTitleOfAShellWithTwoChildrenIsThatOfAnEndedWorker(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := launchHeld(t, noPID1, []string{harness.LongGrace}, harness.Script(`
			for my $n ("a", "b") { spawn { $name = $n; catch "TERM"; say "ready $n"; await "TERM"; hold 3 } }
			forever`)...)
		p.WaitOut(`^ready a`)
		p.WaitOut(`^ready b`)
		p.Signal(unix.SIGTERM)
		p.WaitOut(`^a got TERM`)
		p.WaitOut(`^b got TERM`)
		p.WaitTitle("drainit:ended")
		release()
		p.WantExit(143)
	})
}

// It lives in what it left, also while that drains.
func TestTitleOfAWorkerThatDaemonized(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := launchHeld(t, noPID1, []string{"--forking", harness.LongGrace}, harness.Script(`
			spawn { POSIX::setsid(); catch "TERM"; say "ready"; await "TERM"; hold 3 }; exit 0`)...)
		p.WaitOut(`^ready`)
		p.WaitErr(`runs on in`)
		p.WaitTitle("drainit:run") // it may have daemonized before all signals are heard
		p.Signal(unix.SIGTERM)
		wantDrainTitle(p, release, 0)
	})
}

func TestTitleOfAKill(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: killedAtOnce()})
		release := killing(p, p.Pid())
		p.WantTitle("drainit:kill")
		release()
		p.WantExit(137)
	})
}

func TestTitleWithoutProcAndWithoutRights(t *testing.T) {
	harness.NeedRoot(t)
	for name, setup := range map[string]harness.Setup{
		"no /proc":       {Proc: "none"},
		"read-only root": {ReadOnly: true},
		"plain user":     {UID: harness.PlainUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Setup: setup, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "TERM,TSTP"}})
			p.WaitReady()
			p.Signal(unix.SIGTSTP)
			p.WaitTitle("drainit:quiet")
			p.Signal(unix.SIGTERM)
			p.WantExit(0)
		})
	}
}

// killedAtOnce are the arguments for a drainit to be in the middle of its kill.
func killedAtOnce() []string { return []string{"--grace=0", "--", harness.WorkerBin, "listen"} }

// killing has drainit kill its worker, which stays dead and unburied until it is
// released: who traces a process has to wait for it first. drainit goes on killing
// for 5 s at most, and so is stopped meanwhile.
func killing(p *harness.Init, drainit int) (release func()) {
	p.T.Helper()
	worker := p.ReadyPid(`^ready`)
	bury := traced(p.T, worker)
	harness.WaitTitle(p.T, drainit, "drainit:run")
	harness.Kill(p.T, drainit, unix.SIGTERM)
	harness.WaitUntil(p.T, "the worker is dead, and all its threads", func() bool {
		return harness.StateOf(worker) == 'Z' && harness.StatusField(p.T, worker, "Threads") == 1
	})
	harness.Freeze(p.T, drainit)
	// nsenter, where that is the init, stops and continues with its child.
	harness.WaitUntil(p.T, "the init has stopped", func() bool { return harness.StateOf(p.Pid()) == 'T' })
	return func() {
		bury()
		p.Signal(unix.SIGCONT)
	}
}

// traced makes a thread of the test the tracer of a process. release ends both.
func traced(t *testing.T, pid int) (release func()) {
	t.Helper()
	began, end := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // it is the thread that traces
		began <- unix.PtraceSeize(pid)
		<-end
	}()
	if err := <-began; err != nil {
		close(end)
		t.Fatalf("cannot trace %d: %v", pid, err)
	}
	release = sync.OnceFunc(func() {
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, unix.WALL, nil)
		close(end)
	})
	t.Cleanup(release)
	return release
}
