package signals

import (
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// withoutPidfdSendSignal is a drainit that may not make the call, by which Docker's seccomp profile
// of some versions, which allows pidfd_open(2), answers EPERM, as old ones of other engines do.
func withoutPidfdSendSignal(noPID1 bool, args []string) harness.Launch {
	nocall := []string{"nocall", strconv.Itoa(unix.SYS_PIDFD_SEND_SIGNAL), harness.DrainitBin}
	return harness.Launch{NoPID1: noPID1, Bin: harness.WorkerBin, Args: append(nocall, args...)}
}

// A quiet and a stop reach a process that is not drainit's child all the same.
func TestQuietWithoutPidfdSendSignal(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, withoutPidfdSendSignal(noPID1, harness.Line([]string{harness.LongGrace}, append([]string{"dash", "-c", `"$@"; exit $?`, "dash"},
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
		spawn { POSIX::setsid(); spawn { POSIX::setsid(); spawn { POSIX::setsid(); say "ready"; forever }; forever }; forever };
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
		"perl":     {[]string{"perl", "-e", harness.PerlTree, "a(b c[pgrp](d))"}, `^ready d`},
		"ignoring": {[]string{"perl", "-e", harness.PerlTree, "a[-TSTP](b)"}, `^ready b`},
	} {
		t.Run(name, func(t *testing.T) {
			forEach(t, []string{"no terminal", "on a terminal"}, func(t *testing.T, where string, noPID1 bool) {
				l := harness.Launch{NoPID1: noPID1, Args: harness.Line([]string{harness.LongGrace}, worker.command...)}
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
				p.WantNotStopped()
				p.Signal(unix.SIGTERM)
				p.WantExit(143)
				p.WantLogged(`stopped itself`, 0) // TSTP was sent to none
			})
		})
	}
}
