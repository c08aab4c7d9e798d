package tree

import (
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// A worker daemonizes by two forks: the one that stays is in a session that it does not lead, and
// its parent has gone.
func TestForkingSeesADaemonThroughQuietAndDrain(t *testing.T) {
	harness.Need(t, "perl")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{"-v", "--forking", harness.LongGrace}, harness.Script(`
			waitpid spawn {
				POSIX::setsid();
				spawn { $name = "daemon"; catch "TERM", "TSTP", "HUP", "CONT"; say "ready"; await "TERM"; nap 1.5; say "drained" };
			}, 0;
			POSIX::_exit(0)`)...)})
		p.WaitOut(`^ready`)
		p.WaitErr(`exited with status 0 and runs on in 1 process`)
		for name, sig := range map[string]syscall.Signal{"HUP": unix.SIGHUP, "TSTP": unix.SIGTSTP, "CONT": unix.SIGCONT} {
			p.Signal(sig)
			p.WaitOut(`^daemon got ` + name)
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(0)
		p.WantGots("daemon got HUP", "daemon got TSTP", "daemon got CONT", "daemon got TERM")
		p.WantCount("drained", 1)
		p.WantLogged(`flag --forking`, 0)
		p.WantNothingLeft()
	})
}

// Most daemons do not wait for the one that forks the last time. Here it does so,
// and exits, when drainit has the list of all processes and reads of each: of the
// two it then sees none.
func TestForkingSeesADaemonThatForksUnderTheLook(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace", "perl")
	hold, begin := harness.Pipe(t)
	p := harness.Run(t, harness.Launch{NoPID1: true, Files: []*os.File{hold}, Bin: harness.PathOf(t, "strace"), Args: append([]string{
		"-D", "-qq", "-o", "/dev/null", "-e", "trace=getdents64", "-e", "inject=getdents64:delay_exit=200000"},
		append([]string{harness.DrainitBin, "-v", "--forking", "--"}, harness.Script(`
			hold 3; spawn { POSIX::setsid(); nap 0.05; $name = "daemon"; catch "HUP", "TERM"; spawn { say "ready"; nap 0.01 until %got } }; POSIX::_exit(0)`)...)...)})
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
