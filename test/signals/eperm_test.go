package signals

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

func TestWorkerThatMayNotBeSignalledIsAWarning(t *testing.T) {
	forEach(t, forwardModes, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"--forward", mode,
			"--", harness.SetUIDCopy(t, harness.WorkerBin), "asroot", harness.WorkerBin, "listen", "-catch", "USR1,TSTP,CONT,TERM", "-exit", "7"}})
		p.WaitOut(`^ready`)
		worker := p.FirstChild()
		p.Signal(unix.SIGUSR1)
		p.WaitErr(`warn.*cannot send SIGUSR1 to worker\[\d+\].*operation not permitted`)
		p.Signal(unix.SIGTSTP)
		p.WaitErr(`quiet`)
		p.Signal(unix.SIGCONT)
		p.WaitErr(`running again`)
		p.Signal(unix.SIGTERM)
		p.WaitErr(`draining`)
		// It goes on until the worker ends, however it came to know.
		harness.Kill(t, worker, syscall.SIGTERM)
		p.WantExit(7)
		p.WantGots("got SIGTERM")
	})
}

// One that may not be signalled keeps the signal from no other.
func TestOneThatMayNotBeSignalledHidesNoOther(t *testing.T) {
	forEach(t, []string{"auto", "group"}, func(t *testing.T, mode string, noPID1 bool) {
		harness.Need(t, "dash")
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"--forward", mode, "--", "dash", "-c", `
			trap "" USR1
			"$0" asroot "$1" listen -name root_ -catch USR1,TSTP &
			"$1" listen -name user_ -catch USR1,TSTP &
			wait`, harness.SetUIDCopy(t, harness.WorkerBin), harness.WorkerBin}})
		p.WaitOut(`^root_ready`)
		p.WaitOut(`^user_ready`)
		root := p.ReadyPid(`^root_ready`)
		p.Signal(unix.SIGUSR1)
		p.WaitOut(`^user_got SIGUSR1`)
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^user_got SIGTSTP`)
		p.WaitErr(`warn.*cannot send .* to worker.*operation not permitted`)
		p.Signal(unix.SIGTERM)
		p.WaitErr(`draining`)
		harness.Kill(t, root, syscall.SIGTERM)
		p.WantExit(143)
		if strings.Contains(p.Out(), "root_got SIGUSR1") || strings.Contains(p.Out(), "root_got SIGTSTP") {
			t.Errorf("it may not be signalled:\n%s", p.Out())
		}
	})
}

// beyondReach are workers that are, or leave when their input ends, a process which drainit may
// not signal, and the status that it then ends with.
var beyondReach = []struct {
	script string
	leaves bool
	status int
}{
	{`exec @ARGV`, false, 137},
	{`spawn { exec @ARGV }; hold 0; exit 4`, true, 4},
}

// All run at the same time: each takes more than 5 s.
func TestProcessThatMayNotBeSignalledIsWarnedOfAndLeft(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl")
	t.Parallel()
	root := harness.SetUIDCopy(t, harness.WorkerBin)
	var checks []func()
	for _, c := range beyondReach {
		for _, noPID1 := range []bool{false, true} {
			stdin, exit := harness.Pipe(t)
			p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.OwnUID()}, Stdin: stdin, Args: harness.Line([]string{"--grace", "500ms"},
				harness.Script(c.script, root, "asroot", harness.WorkerBin, "listen")...)})
			pid := p.WorkerPid()
			began := time.Now()
			if c.leaves {
				exit.Close()
			} else {
				p.Signal(syscall.SIGTERM)
			}
			checks = append(checks, func() {
				p.WantExit(c.status)
				if took := time.Since(began); took < 5500*time.Millisecond { // the grace, and what SIGKILL has
					t.Errorf("left after %v", took)
				}
				wantBeyondReach(t, p, noPID1, pid)
			})
		}
	}
	for _, check := range checks {
		check()
	}
}

func wantBeyondReach(t *testing.T, p *harness.Init, noPID1 bool, pid int) {
	// Not as PID 1 it lives on, and holds the pipes open.
	if err := syscall.Kill(pid, syscall.SIGKILL); noPID1 && err != nil {
		t.Errorf("the process that may not be signalled: %v", err)
	}
	p.WantNothingLeft()
	p.WantCount("got SIGTERM", 0)
	p.WantLogged(`"warn".*cannot send SIGTERM to worker\[\d+\]: .*not permitted`, 1)
	p.WantLogged(`"error".*leaving 5s after SIGKILL, still alive: worker\[\d+\] \([a-z ]+, `, 1)
	if noPID1 {
		p.WantLogged(`cannot kill worker`, 1) // and not one for each of a hundred tries
		p.WantLogged(`killed worker`, 0)
	}
}
