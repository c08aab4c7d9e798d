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

// The child drains for 2.5 s after its release: long enough to be signalled again
// by whatever looks at the leftovers each second. A stop signal meanwhile begins the grace period
// anew, and signals it no second time either.
func TestWhatAWorkerLeavesIsNamedAtOnceSignalledOnceAndDrains(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		stdin, exit := harness.Pipe(t)
		hold, release := harness.Pipe(t)
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Stdin: stdin, Files: []*os.File{hold},
			Args: harness.Line([]string{"--grace", "60s"}, harness.Script(harness.LeavesChild, "2.5")...)})
		p.WaitOut(`^ready`)
		exit.Close()
		p.WaitErr(`perl\[\d+\] exited with status 5 and left 1 process \(perl\[\d+\]\).*"left_s":30[,}]`)
		p.WaitOut(`^child got TERM`)
		p.Signal(syscall.SIGTERM)
		p.WaitErr(`the grace period starts now.*"left_s":60[,}]`)
		release.Close()
		p.WantExit(5)
		p.WantCount("drained", 1)
		p.WantCount("child got TERM", 1)
		p.WantLogged(`and left 1 process`, 1)
		p.WantLogged(harness.KillLine+`|force`, 0)
	})
}

func TestMain(m *testing.M) { harness.Main(m) }

// A parent that dies before drainit has asked for the signal would never give
// it. The look at the parent, which comes before, is held up while it dies.
func TestParentThatDiedTooEarlyStopsAsWell(t *testing.T) {
	harness.Need(t, "strace")
	t.Parallel()
	p := harness.Run(t, harness.Launch{NoPID1: true, Args: harness.Words("-p TERM -- WORKER listen"),
		Under: []string{"/bin/sh", "-c", `"$0" "$@" & wait`,
			"strace", "-D", "-qq", "-o", "/dev/null", "-e", "trace=getppid", "-e",
			"inject=getppid:delay_exit=2000000:when=1"}})
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

// Most daemons do not wait for the one that forks the last time. Here it does so,
// and exits, when drainit has the list of all processes and reads of each: of the
// two it then sees none.
func TestForkingSeesADaemonThatForksUnderTheLook(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace", "perl")
	hold, begin := harness.Pipe(t)
	p := harness.Run(t, harness.Launch{NoPID1: true, Files: []*os.File{hold},
		Under: harness.Words("strace -D -qq -o /dev/null -e trace=getdents64 -e " +
			"inject=getdents64:delay_exit=200000"),
		Args: harness.Line([]string{"-v", "--forking"}, harness.Script(`
			hold 3;
			spawn {
				POSIX::setsid(); nap 0.05; $name = "daemon"; catch "HUP", "TERM";
				spawn { say "ready"; nap 0.01 until %got }
			};
			POSIX::_exit(0)`)...)})
	worker := p.WaitErr(`"started perl\[(\d+)\]`)[1]
	begin.Close()
	p.WaitOut(`^ready`)
	harness.WaitUntil(t, "the worker has been waited for", func() bool {
		_, err := os.Stat("/proc/" + worker)
		return err != nil
	})
	p.Signal(syscall.SIGHUP)
	if got := p.WaitOut(`^daemon got (\w+)`)[1]; got != "HUP" {
		t.Errorf("the daemon was sent %s: drainit does not run on\n%s", got, p.Err())
	}
	p.WantExit(0)
	p.WantNothingLeft()
}
