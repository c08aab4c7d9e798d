package signals

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// withoutPidfdSendSignal is a drainit that may not make the call, by which Docker's seccomp profile
// of some versions, which allows pidfd_open(2), answers EPERM, as old ones of other engines do.
func withoutPidfdSendSignal(noPID1 bool, args []string) harness.Launch {
	return harness.Launch{NoPID1: noPID1, Under: []string{harness.WorkerBin, "nocall",
		strconv.Itoa(unix.SYS_PIDFD_SEND_SIGNAL)}, Args: args}
}

// A quiet and a stop reach a process that is not drainit's child all the same.
func TestQuietWithoutPidfdSendSignal(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, withoutPidfdSendSignal(noPID1,
			harness.Line([]string{harness.LongGrace}, append([]string{"dash", "-c", `"$@"; exit $?`, "dash"},
				harness.Script(`catch "TSTP", "TERM"; say "ready"; await "TERM"; exit 7`)...)...)))
		p.WaitOut(`^ready`)
		passTo(p, unix.SIGTSTP, "worker")
		p.WaitTitle("drainit:quiet")
		passTo(p, unix.SIGTERM, "worker")
		p.WantExit(7)
		p.WantLogged(`cannot send|not permitted`, 0)
	})
}

// So does the kill of a drainit that is not PID 1, where no call of the kernel reaches
// everything: of three generations each has a session of its own.
func TestKillWithoutPidfdSendSignal(t *testing.T) {
	t.Parallel()
	p := harness.Run(t, withoutPidfdSendSignal(true, harness.Line([]string{"--grace=300ms"}, harness.Script(`
		$SIG{TERM} = "IGNORE";
		spawn {
			POSIX::setsid();
			spawn { POSIX::setsid(); spawn { POSIX::setsid(); say "ready"; forever }; forever }; forever
		};
		forever`)...)))
	p.WaitOut(`^ready`)
	p.Signal(unix.SIGTERM)
	p.WantExit(137)
	p.WantLogged(`cannot kill|cannot send|not permitted|after SIGKILL`, 0)
	p.WantNothingLeft()
}

// Every way of passing TSTP on that looks at no handler freezes such a worker: its jobs stall, its
// heartbeats stop, and it does not see the TERM that follows.
func TestQuietNeverFreezesAWorkerWithoutAHandler(t *testing.T) {
	for name, worker := range map[string]struct {
		command []string
		ready   string
	}{
		"dash":     {[]string{"dash", "-c", "echo ready; sleep 1000; :"}, `^ready`},
		"perl":     {harness.Tree("a(b c[pgrp](d))"), `^ready d`},
		"ignoring": {harness.Tree("a[-TSTP](b)"), `^ready b`},
	} {
		t.Run(name, func(t *testing.T) {
			forEach(t, []string{"no terminal", "on a terminal"},
				func(t *testing.T, where string, noPID1 bool) {
					l := harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace},
						worker.command...)}
					if where == "on a terminal" {
						l = harness.OnTerminal(t, l)
					}
					p := harness.Run(t, l)
					p.WaitOut(worker.ready)
					p.WaitTitle("drainit:run")
					p.Signal(unix.SIGTSTP)
					p.WaitErr(`"warn".*quiet has no effect.*--rewrite`)
					p.Signal(unix.SIGTSTP)
					p.WaitErr(`(?s)quiet has no effect.*quiet has no effect`)
					wantNotStopped(p)
					p.Signal(unix.SIGTERM)
					p.WantExit(143)
					p.WantLogged(`stopped itself`, 0) // TSTP was sent to none
				})
		})
	}
}

// Each of these starts one child after the other. As posix_spawn(3) and Python's
// subprocess it has every signal blocked while it does: it looks like one that
// waits for them all by sigwait, and is not. The slow one's vfork(2) takes as
// long as one may on a busy machine.
var spawners = map[string][]string{
	"dash": {"dash", "-c",
		`[ -z "$0" ] || "$0" listen -catch USR1 & echo ready; while :; do /bin/true; done`},
	"slowly": harness.Script(`
		use Time::HiRes;
		if ($ARGV[1]) { fork or exec $ARGV[1], "listen", "-catch", "USR1" }
		my ($all, $before) = (POSIX::SigSet->new, POSIX::SigSet->new);
		$all->fillset;
		say "ready";
		while (1) {
			POSIX::sigprocmask(POSIX::SIG_BLOCK(), $all, $before);
			my $pid = syscall $ARGV[0] + 0, 0x4000 | POSIX::SIGCHLD(), 0, 0, 0, 0; # CLONE_VFORK
			if (!$pid) { my $until = Time::HiRes::time() + 0.1;
				1 while Time::HiRes::time() < $until; POSIX::_exit(0) }
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
				test(t, harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace},
					append(slices.Clone(command), catcher)...)}, harness.Of(50, 5))
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
			harness.WaitUntil(t, "a line for each TSTP",
				func() bool { return strings.Count(p.Err(), `"msg":"quiet`) > n })
		}
		wantNotStopped(p)
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
		p.WantLogged(`quiet: SIGTSTP to|stopped itself`, 0) // it was sent to one that does not handle it
	})
}

func TestSignalPassesASpawnerThatDoesNotHandleIt(t *testing.T) {
	spawning(t, harness.WorkerBin, func(t *testing.T, l harness.Launch, rounds int) {
		l.Args[0] = "--grace=12s" // what is busy with USR1 when TERM comes waits for the last call
		p := harness.Run(t, l)
		p.WaitOut(`^ready$`)
		p.WaitOut(`^ready \d`)
		p.WaitTitle("drainit:run")
		for n := range rounds {
			p.Signal(unix.SIGUSR1)
			harness.WaitUntil(t, "USR1 to the one that handles it", func() bool {
				return !p.Running() ||
					len(harness.Gots(p.Out())) > n
			})
		}
		p.Signal(unix.SIGTERM)
		p.WantExit(143)
	})
}

// A worker that is stopped, by a debugger or a kill -STOP, does no work and is alive: drainit
// says so once, and is not ready until it goes on. From quiet it is quiet again. A stop continues it.
func TestStoppedWorkerIsNotReadyAndIsNamedOnce(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.LaunchProbed(t, 0, harness.Launch{NoPID1: noPID1,
			Args: harness.Line([]string{harness.LongGrace},
				harness.Script(`catch "TSTP", "TERM", "USR1"; say "ready $$"; await "USR1"; exit 7`)...)})
		worker := p.ReadyPid(`^ready`)
		for _, is := range []struct{ title, probed string }{{"drainit:run", "running"},
			{"drainit:quiet", "quiet"}} {
			if is.probed == "quiet" {
				passTo(p.Init, unix.SIGTSTP, "worker")
				p.WaitErr(`quiet: SIGTSTP`) // until then drainit continues what has stopped by it
			}
			harness.Freeze(t, worker)
			p.WaitErr(`"level":"warn".*perl\[\d+\] is stopped \(state T\) and does no work.*SIGCONT`)
			harness.WaitUntil(t, "it is not ready", func() bool { return p.Get("/readyz")[:3] == "503" })
			if is.probed == "running" {
				p.WaitTitle("drainit:stopped")
				p.WantProbes("503 stopped", "200 stopped")
			}
			harness.Kill(t, worker, unix.SIGCONT)
			p.WaitTitle(is.title)
			harness.WaitUntil(t, "probes know", func() bool { return p.Get("/healthz") == "200 "+is.probed })
		}
		harness.Freeze(t, worker)
		passTo(p.Init, unix.SIGTERM, "worker")
		p.WaitTitle("drainit:drain")
		p.WantProbes("503 draining", "200 draining")
		p.Signal(unix.SIGUSR1)
		p.WantExit(7)
		p.WantLogged(`is stopped`, 1)
		p.WantGots("worker got TSTP", "worker got TERM", "worker got USR1")
	})
}
