package signals

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Each of these starts one child after the other. As posix_spawn(3) and Python's
// subprocess it has every signal blocked while it does: it looks like one that
// waits for them all by sigwait, and is not. The slow one's vfork(2) takes as
// long as one may on a busy machine.
var spawners = map[string][]string{
	"dash": {"dash", "-c", `[ -z "$0" ] || "$0" listen -catch USR1 & echo ready; while :; do /bin/true; done`},
	"slowly": harness.Script(`
		use Time::HiRes;
		if ($ARGV[1]) { fork or exec $ARGV[1], "listen", "-catch", "USR1" }
		my ($all, $before) = (POSIX::SigSet->new, POSIX::SigSet->new);
		$all->fillset;
		say "ready";
		while (1) {
			POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all, $before);
			my $pid = syscall $ARGV[0] + 0, 0x4000 | POSIX::SIGCHLD(), 0, 0, 0, 0; # CLONE_VFORK
			if (!$pid) { my $until = Time::HiRes::time() + 0.1; 1 while Time::HiRes::time() < $until; POSIX::_exit(0) }
			POSIX::sigprocmask(POSIX::SIG_SETMASK(), $before);
			waitpid $pid, 0;
		}`, strconv.Itoa(unix.SYS_CLONE)),
}

// spawning is a test of each spawner, with this program's path as its last argument.
func spawning(t *testing.T, catcher string, test func(t *testing.T, l harness.Launch, rounds int)) {
	for name, command := range spawners {
		t.Run(name, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				harness.Need(t, command[0])
				test(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, append(slices.Clone(command), catcher)...)}, harness.Of(50, 5))
			})
		})
	}
}

func TestQuietDoesNotTakeASpawningWorkerForOneThatWaitsForTstp(t *testing.T) {
	spawning(t, "", func(t *testing.T, l harness.Launch, rounds int) {
		p := harness.Run(t, harness.OnTerminal(t, l))
		p.WaitReady()
		for n := range rounds {
			p.Signal(unix.SIGTSTP)
			harness.WaitUntil(t, "a line for each TSTP", func() bool { return strings.Count(p.Err(), `"msg":"quiet`) > n })
		}
		p.WantNotStopped()
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
		p.WantLogged(`quiet: SIGTSTP to|stopped itself`, 0) // it was sent to one that does not handle it
	})
}

func TestSignalPassesASpawnerThatDoesNotHandleIt(t *testing.T) {
	spawning(t, harness.WorkerBin, func(t *testing.T, l harness.Launch, rounds int) {
		p := harness.Run(t, l)
		p.WaitOut(`^ready$`)
		p.WaitOut(`^ready \d`)
		p.WaitTitle("drainit:run")
		for n := range rounds {
			p.Signal(unix.SIGUSR1)
			harness.WaitUntil(t, "USR1 to the one that handles it", func() bool { return !p.Running() || len(harness.Gots(p.Out())) > n })
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}
