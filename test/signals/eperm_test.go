package signals

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A process that may not be signalled keeps the signal from no other.
func TestProcessThatMayNotBeSignalledHidesNoOther(t *testing.T) {
	harness.Need(t, "dash")
	forEach(t, []string{"auto", "group"}, func(t *testing.T, mode string, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"--forward", mode, "--", "dash", "-c", `
			trap "" USR1
			"$0" asroot "$1" listen -name root_ -catch USR1,TSTP &
			"$1" listen -name user_ -catch USR1,TSTP &
			wait`, harness.SetUIDCopy(t, harness.WorkerBin), harness.WorkerBin}})
		p.WaitOut(`^user_ready`)
		root := p.ReadyPid(`^root_ready`)
		p.Signal(unix.SIGUSR1)
		p.WaitOut(`^user_got SIGUSR1`)
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^user_got SIGTSTP`)
		p.WaitErr(`warn.*cannot send .* to worker.*operation not permitted`)
		p.Signal(unix.SIGTERM)
		p.WaitErr(`draining`)
		harness.Kill(t, root, unix.SIGTERM)
		p.WantExit(143)
		p.WantCount("root_got SIGUSR1", 0)
		p.WantCount("root_got SIGTSTP", 0)
	})
}

// All run at the same time: each takes more than 5 s.
func TestProcessThatMayNotBeSignalledIsWarnedOfAndLeft(t *testing.T) {
	harness.Full(t)
	root := harness.SetUIDCopy(t, harness.WorkerBin)
	for script, status := range map[string]int{`exec @ARGV`: 137, `spawn { exec @ARGV }; hold 0; exit 4`: 4} {
		t.Run(script, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				stdin, exit := harness.Pipe(t)
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Setup: harness.Setup{UID: harness.OwnUID()}, Stdin: stdin, Args: harness.Line([]string{"--grace", "500ms"},
					harness.Script(script, root, "asroot", harness.WorkerBin, "listen")...)})
				pid, began := p.WorkerPid(), time.Now()
				if status == 4 {
					exit.Close()
				} else {
					p.Signal(unix.SIGTERM)
				}
				p.WantExit(status)
				harness.WantTookAtLeast(t, began, 5500*time.Millisecond) // the grace, and what SIGKILL has
				// Not as PID 1 it lives on, and holds the pipes open.
				if err := unix.Kill(pid, unix.SIGKILL); noPID1 && err != nil {
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
			})
		})
	}
}
