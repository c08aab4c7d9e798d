package test

import (
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// no process is the user that drainit runs as here: it may not signal root's.
const nobody = 65534

func TestWorkerThatMayNotBeSignalledIsAWarning(t *testing.T) {
	for _, mode := range []string{"auto", "group", "worker"} {
		t.Run(mode, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := launch(t, Launch{NoPID1: noPID1, Setup: Setup{UID: nobody}, Args: []string{"--forward", mode,
					"--", setUIDWorker(t), "asroot", workerBin, "listen", "-catch", "USR1,TSTP,CONT,TERM", "-exit", "7"}})
				p.waitOut(`^ready`)
				worker := p.firstChild()
				p.signal(unix.SIGUSR1)
				p.waitErr(`warn.*cannot send SIGUSR1 to worker\[\d+\].*operation not permitted`)
				p.signal(unix.SIGTSTP)
				p.waitErr(`quiet`)
				p.signal(unix.SIGCONT)
				p.waitErr(`running again`)
				p.signal(unix.SIGTERM)
				p.waitErr(`draining`)
				// It goes on until the worker ends, however it came to know.
				if err := syscall.Kill(worker, syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				p.wantExit(7)
				p.wantGots("got SIGTERM")
			})
		})
	}
}

// One that may not be signalled keeps the signal from no other.
func TestOneThatMayNotBeSignalledHidesNoOther(t *testing.T) {
	for _, mode := range []string{"auto", "group"} {
		t.Run(mode, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				need(t, "dash")
				p := launch(t, Launch{NoPID1: noPID1, Setup: Setup{UID: nobody}, Args: []string{"--forward", mode, "--", "dash", "-c", `
					trap "" USR1
					"$0" asroot "$1" listen -name root_ -catch USR1,TSTP &
					"$1" listen -name user_ -catch USR1,TSTP &
					wait`, setUIDWorker(t), workerBin}})
				p.waitOut(`^root_ready`)
				p.waitOut(`^user_ready`)
				root := p.readyPid(`^root_ready`)
				p.signal(unix.SIGUSR1)
				p.waitOut(`^user_got SIGUSR1`)
				p.signal(unix.SIGTSTP)
				p.waitOut(`^user_got SIGTSTP`)
				p.waitErr(`warn.*cannot send .* to worker.*operation not permitted`)
				p.signal(unix.SIGTERM)
				p.waitErr(`draining`)
				if err := syscall.Kill(root, syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				p.wantExit(143)
				if strings.Contains(p.out(), "root_got SIGUSR1") || strings.Contains(p.out(), "root_got SIGTSTP") {
					t.Errorf("it may not be signalled:\n%s", p.out())
				}
			})
		})
	}
}
