package signals

import (
	"testing"

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
