package tree

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// underShell starts a command as the child of a shell.
func underShell(t *testing.T, command ...string) *harness.Init {
	t.Helper()
	return harness.Run(t, harness.Launch{Bin: "/bin/sh", NoPID1: true, Args: append([]string{"-c", `"$@" & wait`, "sh"}, command...)})
}

func TestDeathOfTheParentStopsWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	p := underShell(t, harness.DrainitBin, "-p", "TERM", "--", harness.WorkerBin, "listen", "-drain", "100ms")
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGKILL)
	p.WaitOut(`^drained`)
	p.WantExit(137)
	p.WantCount("got SIGTERM", 1)
	p.WantNothingLeft()

	p = underShell(t, harness.DrainitBin, "--", harness.WorkerBin, "listen", "-catch", "all")
	worker := p.WorkerPid()
	p.Signal(syscall.SIGKILL)
	p.WantExit(137)
	harness.Kill(t, worker, syscall.SIGTERM)
	p.WantGots("got SIGTERM")
	p.WantNothingLeft()
}

// A parent that dies before drainit has asked for the signal would never give
// it. The look at the parent, which comes before, is held up while it dies.
func TestParentThatDiedTooEarlyStopsAsWell(t *testing.T) {
	harness.Need(t, "strace")
	t.Parallel()
	p := underShell(t, "strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=getppid", "-e", "inject=getppid:delay_exit=2000000:when=1",
		harness.DrainitBin, "-p", "TERM", "--", harness.WorkerBin, "listen")
	looking := fmt.Sprintf("%d ", unix.SYS_GETPPID)
	harness.WaitUntil(t, "drainit looks at its parent", func() bool {
		for _, pid := range harness.ChildPids(p.Pid()) {
			call, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
			if strings.HasPrefix(string(call), looking) {
				return true
			}
		}
		return strings.Contains(p.Stdout.Text(), "ready") // on a machine that is slower than that
	})
	p.Signal(syscall.SIGKILL)
	p.WantExit(137)
	p.WaitErr(`SIGTERM came before the start|what still runs after`)
	p.WantNothingLeft()
}
