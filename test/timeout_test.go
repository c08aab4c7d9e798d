package test

import (
	"os/exec"
	"syscall"
	"testing"
)

// timeout(1) sends its signal to drainit and then to the whole process group,
// so drainit gets it twice, now and then as two. An ALRM, which is what its
// timer would send to it, makes the time run out when the worker is ready.
func TestTimeoutNeverForceStops(t *testing.T) {
	need(t, "timeout")
	timeout, err := exec.LookPath("timeout")
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	const runs, atATime = 200, 20
	for range runs / atATime {
		var all []*Init
		for range atATime {
			all = append(all, launch(t, Launch{Bin: timeout, NoPID1: true,
				Args: []string{"--preserve-status", "1000", drainitBin, "--", workerBin, "listen", "-drain", "100ms", "-exit", "9"}}))
		}
		for _, p := range all {
			p.waitOut(`^ready`)
			p.signal(syscall.SIGALRM)
		}
		for _, p := range all {
			p.wantExit(9)
			p.wantCount("got SIGTERM", 1)
			p.wantCount("drained", 1)
			p.wantLogged(`force-stop: `, 0)
		}
	}
}
