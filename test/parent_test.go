package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Twenty times, for it depends on the order in which the threads of drainit die:
// by a parent-death signal most of these workers would be signalled again and again.
func TestWorkerOfAKilledDrainitIsSignalledOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		p := launch(t, Launch{NoPID1: true, Args: []string{"-v", "--", workerBin, "listen", "-drain", "100ms"}})
		p.waitOut(`^ready`)
		p.waitErr(`started`)
		p.signal(syscall.SIGKILL)
		p.wantExit(137)
		p.waitOut(`^drained`)
		p.wantCount("got SIGTERM", 1)
		p.wantNothingLeft()
		if t.Failed() {
			return
		}
	}
}

// underShell starts a command as the child of a shell.
func underShell(t *testing.T, command ...string) *Init {
	t.Helper()
	return launch(t, Launch{Bin: "/bin/sh", NoPID1: true, Args: append([]string{"-c", `"$@" & wait`, "sh"}, command...)})
}

func TestDeathOfTheParentStops(t *testing.T) {
	t.Parallel()
	p := underShell(t, drainitBin, "-p", "TERM", "--", workerBin, "listen", "-drain", "100ms")
	p.waitOut(`^ready`)
	p.signal(syscall.SIGKILL)
	p.waitOut(`^drained`)
	p.wantExit(137)
	p.wantCount("got SIGTERM", 1)
	p.wantNothingLeft()
}

func TestDeathOfTheParentMeansNothingByDefault(t *testing.T) {
	t.Parallel()
	p := underShell(t, drainitBin, "--", workerBin, "listen", "-catch", "all")
	worker := p.workerPid()
	p.signal(syscall.SIGKILL)
	p.wantExit(137)
	if err := syscall.Kill(worker, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.wantCount("got SIGTERM", 1)
	if got := strings.Count(p.out(), "got SIG"); got != 1 {
		t.Errorf("the worker got %d signals, want 1: %s", got, p.out())
	}
	p.wantNothingLeft()
}

// A parent that dies before drainit has asked for the signal would never give
// it. The look at the parent, which comes before, is held up while it dies.
func TestParentThatDiedTooEarlyStopsAsWell(t *testing.T) {
	need(t, "strace")
	t.Parallel()
	p := underShell(t, "strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=getppid", "-e", "inject=getppid:delay_exit=2000000:when=1",
		drainitBin, "-p", "TERM", "--", workerBin, "listen")
	looking := fmt.Sprintf("%d ", unix.SYS_GETPPID)
	waitUntil(t, "drainit looks at its parent", func() bool {
		for pid := range childrenOf(p.Pid()) {
			call, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
			if strings.HasPrefix(string(call), looking) {
				return true
			}
		}
		return strings.Contains(p.stdout.text(), "ready") // on a machine that is slower than that
	})
	p.signal(syscall.SIGKILL)
	p.wantExit(137)
	p.waitErr(`SIGTERM came before the start|what still runs after`)
	p.wantNothingLeft()
}
