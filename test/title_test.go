package test

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
)

// titleReader is a worker that prints what its parent is called in the moment
// in which it handles a signal.
const titleReader = `
sub title { open my $f, "<", "/proc/" . getppid . "/comm" or die $!; my $t = <$f>; chomp $t; $t }
for my $s (qw(TSTP CONT TERM)) { $SIG{$s} = sub { say "$s under " . title; exit 7 if $s eq "TERM" } }
say "ready"; forever`

func TestTitleHasChangedBeforeTheWorkerIsSignalled(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace}, script(titleReader)...)})
		p.waitOut(`^ready`)
		p.waitTitle("drainit:run")
		want := "ready\n"
		for i, step := range []struct {
			sig  syscall.Signal
			says string
		}{
			{unix.SIGTSTP, "TSTP under drainit:quiet\n"},
			{unix.SIGCONT, "CONT under drainit:run\n"},
			{unix.SIGTSTP, "TSTP under drainit:quiet\n"},
			{unix.SIGTERM, "TERM under drainit:drain\n"},
		} {
			p.signal(step.sig)
			p.waitOut(fmt.Sprintf(`\A(.*\n){%d}`, i+2))
			want += step.says
		}
		p.wantExit(7)
		if p.out() != want {
			t.Errorf("stdout:\n%s\nwant:\n%s", p.out(), want)
		}
	})
}

// The worker above may be slow to look. The system calls have an order.
func TestTitleIsSetBeforeTheSignalIsSent(t *testing.T) {
	t.Parallel()
	need(t, "strace")
	file := filepath.Join(t.TempDir(), "trace")
	p := launch(t, Launch{NoPID1: true, Bin: pathOf(t, "strace"), Args: []string{"-f", "--seccomp-bpf", "-e", "signal=none",
		"-e", "trace=prctl,kill,tgkill,pidfd_send_signal", "-o", file, drainitBin, longGrace, "--", workerBin, "listen", "-catch", "TSTP,CONT,TERM", "-exit", "7"}})
	p.waitOut(`^ready`)
	drainit := p.firstChild()
	waitTitle(t, drainit, "drainit:run")
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGCONT, unix.SIGTERM} {
		if err := unix.Kill(drainit, sig); err != nil {
			t.Fatal(err)
		}
		p.waitOut(`^got ` + unix.SignalName(sig))
	}
	p.wantExit(7)
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
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: line([]string{longGrace, "--stop-delay=200ms"}, script(titleReader)...)})
		p.waitOut(`^ready`)
		p.signal(unix.SIGTERM)
		p.waitOut(`^TSTP under drainit:drain$`)
		p.waitOut(`^TERM under drainit:drain$`)
		p.wantExit(7)
	})
}

// Probes must not find a drainit before there is a worker.
func TestTitleComesWithTheWorker(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen"}})
		order, seen := []string{"worker", "drainit", "drainit:start", "drainit:run"}, 0 // the first is what sets the stage
		for deadline := time.Now().Add(patience); order[seen] != "drainit:run"; {
			title := comm(p.Pid())
			i := slices.Index(order, title)
			if i < seen || time.Now().After(deadline) {
				t.Fatalf("the title is %q, and was %q before", title, order[seen])
			}
			seen = max(seen, i)
		}
		p.signal(unix.SIGTERM)
		p.wait()
	})
}

func TestTitleOfLeftoversThatDrain(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p, release := leaving(t, noPID1, longGrace)
		p.waitOut(`^child got TERM`)
		p.waitTitle("drainit:ended")
		p.signal(unix.SIGTERM) // the first
		p.waitErr(`the grace period starts now`)
		p.wantTitle("drainit:ended")
		release()
		p.wantExit(5)
	})
}

// The worker of such a drain lives on in its successor.
func TestTitleOfASuccessionIsThatOfADrain(t *testing.T) {
	need(t, "dash")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		hold, release := pipe(t)
		p := launch(t, Launch{NoPID1: noPID1, Files: []*os.File{hold}, Args: line([]string{"-v", longGrace},
			append([]string{"dash", "-c", `"$@"; exit $?`, "dash"}, script(`catch "TERM"; say "ready"; await "TERM"; hold 3; exit 9`)...)...)})
		p.waitOut(`^ready`)
		p.signal(unix.SIGTERM)
		p.waitErr(`perl\[\d+\] is the worker now`)
		p.waitOut(`^worker got TERM`)
		p.wantTitle("drainit:drain")
		release.Close()
		p.wantExit(9)
	})
}

// With two that could be it there is none.
func TestTitleOfAShellWithTwoChildrenIsThatOfAnEndedWorker(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		hold, release := pipe(t)
		p := launch(t, Launch{NoPID1: noPID1, Files: []*os.File{hold}, Args: line([]string{longGrace}, script(`
			for my $n ("a", "b") { spawn { $name = $n; catch "TERM"; say "ready $n"; await "TERM"; hold 3 } }
			forever`)...)})
		p.waitOut(`^ready a`)
		p.waitOut(`^ready b`)
		p.signal(unix.SIGTERM)
		p.waitOut(`^a got TERM`)
		p.waitOut(`^b got TERM`)
		p.waitTitle("drainit:ended")
		release.Close()
		p.wantExit(143)
	})
}

// It lives in what it left, also while that drains.
func TestTitleOfAWorkerThatDaemonized(t *testing.T) {
	need(t, "perl")
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		hold, release := pipe(t)
		p := launch(t, Launch{NoPID1: noPID1, Files: []*os.File{hold}, Args: line([]string{"--forking", longGrace}, script(`
			spawn { POSIX::setsid(); catch "TERM"; say "ready"; await "TERM"; hold 3 }; exit 0`)...)})
		p.waitOut(`^ready`)
		p.waitErr(`runs on in`)
		p.wantTitle("drainit:run")
		p.signal(unix.SIGTERM)
		p.waitOut(`^worker got TERM`)
		p.wantTitle("drainit:drain")
		release.Close()
		p.wantExit(0)
	})
}

func TestTitleOfAKill(t *testing.T) {
	waitingModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: killedAtOnce()})
		release := killing(p, p.Pid())
		p.wantTitle("drainit:kill")
		release()
		p.wantExit(137)
	})
}

func TestTitleWithoutProcAndWithoutRights(t *testing.T) {
	needRoot(t)
	for name, setup := range map[string]Setup{
		"no /proc":       {Proc: "none"},
		"read-only root": {ReadOnly: true},
		"plain user":     {UID: plainUser},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, Launch{Setup: setup, Args: []string{"--", workerBin, "listen", "-catch", "TERM,TSTP"}})
			p.waitOut(`^ready`)
			p.waitTitle("drainit:run")
			p.signal(unix.SIGTSTP)
			p.waitTitle("drainit:quiet")
			p.signal(unix.SIGTERM)
			p.wantExit(0)
		})
	}
}

func (p *Init) waitTitle(title string) { p.t.Helper(); waitTitle(p.t, p.Pid(), title) }
func (p *Init) wantTitle(title string) { p.t.Helper(); wantTitle(p.t, p.Pid(), title) }

// waitTitle waits until a drainit shows a title.
func waitTitle(t *testing.T, pid int, title string) {
	t.Helper()
	waitUntil(t, "the title is "+title, func() bool { return comm(pid) == title })
}

func wantTitle(t *testing.T, pid int, title string) {
	t.Helper()
	if got := comm(pid); got != title {
		t.Errorf("the title is %q, want %q", got, title)
	}
}

// killedAtOnce are the arguments for a drainit to be in the middle of its kill.
func killedAtOnce() []string { return []string{"--grace=0", "--", workerBin, "listen"} }

// killing has drainit kill its worker, which stays dead and unburied until it is
// released: who traces a process has to wait for it first. drainit goes on killing
// for 5 s at most, and so is stopped meanwhile.
func killing(p *Init, drainit int) (release func()) {
	p.t.Helper()
	worker := p.readyPid(`^ready`)
	bury := traced(p.t, worker)
	waitTitle(p.t, drainit, "drainit:run")
	if err := unix.Kill(drainit, unix.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	waitUntil(p.t, "the worker is dead, and all its threads", func() bool {
		return stateOf(worker) == 'Z' && statusField(p.t, worker, "Threads") == 1
	})
	freeze(p.t, drainit)
	// nsenter, where that is the init, stops and continues with its child.
	waitUntil(p.t, "the init has stopped", func() bool { return stateOf(p.Pid()) == 'T' })
	return func() {
		bury()
		p.signal(unix.SIGCONT)
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
