package signals

import (
	"strconv"
	"strings"
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
// heartbeats stop, and it does not see the TERM that follows. What one thread blocks the kernel
// gives to another, by its default action.
func TestQuietNeverFreezesAWorkerWithoutAHandler(t *testing.T) {
	for name, worker := range map[string]struct {
		command []string
		ready   string
	}{
		"dash":                   {[]string{"dash", "-c", "echo ready; sleep 1000; :"}, `^ready`},
		"perl":                   {[]string{"perl", "-e", harness.PerlTree, "a(b c[pgrp](d))"}, `^ready d`},
		"ignoring":               {[]string{"perl", "-e", harness.PerlTree, "a[-TSTP](b)"}, `^ready b`},
		"blocking in one thread": {[]string{harness.WorkerBin, "blockone", "TSTP"}, `^ready`},
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

// A second quiet goes to those that came later, a resume to all that were quieted, and who was
// quieted and resumed can be quieted again.
func TestSecondQuietAndResume(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.StartTree(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace}},
			"a[CONT](b[TSTP,CONT] late[USR1*,TSTP,CONT] c[USR2>](new[TSTP,CONT]))", "a b late c")
		passTo(p, unix.SIGTSTP, "b")
		p.WaitErr(`quiet`)
		p.Signal(unix.SIGUSR1)
		p.WaitOut(`^up late`)
		p.Signal(unix.SIGUSR2)
		p.WaitOut(`^ready new`)
		want := []string{"b got TSTP"}
		for _, sig := range []string{"TSTP", "CONT", "TSTP", "CONT"} {
			p.Signal(unix.SignalNum("SIG" + sig))
			for _, name := range []string{"b", "late", "new"} {
				if len(want) != 1 || name != "b" { // it has been quieted
					want = append(want, name+" got "+sig)
				}
			}
			harness.WaitUntil(t, strings.Join(want, ", "), func() bool { return len(harness.Gots(p.Out())) == len(want) })
		}
		wantStop(p, 143, want...)
	})
}

// What stops by the TSTP that it was sent is continued: this worker handles it and then stops itself, as
// an editor does.
func TestWorkerThatStopsItselfByTstpIsContinued(t *testing.T) {
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.OnTerminal(t, harness.Launch{NoPID1: noPID1, Args: harness.Line(nil, harness.Script(`
			catch "TSTP"; $SIG{TERM} = sub { exit 7 }; say "ready"; await "TSTP"; $SIG{TSTP} = "DEFAULT"; kill TSTP => $$; say "goes on"; forever`)...)}))
		p.WaitReady()
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^goes on`)
		p.WaitErr(`warn.*perl\[\d+\] stopped itself.*--rewrite`)
		p.Signal(unix.SIGTERM)
		p.WantExit(7)
	})
}
