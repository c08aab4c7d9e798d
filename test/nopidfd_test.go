package test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Docker's seccomp profile of some versions allows pidfd_open(2) and answers
// pidfd_send_signal(2) with EPERM, as old ones of other engines do. A quiet reaches a process
// that is not drainit's child all the same.
func TestQuietWithoutPidfdSendSignal(t *testing.T) {
	need(t, "perl", "dash")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := launch(t, Launch{NoPID1: noPID1, Bin: workerBin, Args: append([]string{"nopidfdsignal", drainitBin},
			line([]string{longGrace}, append([]string{"dash", "-c", `"$@"; exit $?`, "dash"}, script(`
				catch "TSTP", "CONT", "TERM"; say "ready"; await "TERM"; exit 7`)...)...)...)})
		p.waitOut(`^ready`)
		p.signal(unix.SIGTSTP)
		p.waitTitle("drainit:quiet")
		p.waitErr(`quiet`)
		p.wantLogged(`cannot send|not permitted`, 0)
		p.waitOut(`^worker got TSTP`)
		p.signal(unix.SIGTERM)
		p.waitOut(`^worker got TERM`)
		p.wantExit(7)
		p.wantLogged(`cannot send|not permitted`, 0)
	})
}

// So does the kill of a drainit that is not PID 1, where no call of the kernel reaches
// everything: of three generations each has a session of its own.
func TestKillWithoutPidfdSendSignal(t *testing.T) {
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := launch(t, Launch{NoPID1: noPID1, Bin: workerBin, Args: append([]string{"nopidfdsignal", drainitBin},
			line([]string{"--grace=300ms"}, script(`
				$SIG{TERM} = "IGNORE";
				spawn { POSIX::setsid(); spawn { POSIX::setsid(); spawn { POSIX::setsid(); say "ready"; forever }; forever }; forever };
				forever`)...)...)})
		p.waitOut(`^ready`)
		p.signal(unix.SIGTERM)
		p.wantExit(137)
		p.wantLogged(`cannot kill|cannot send|not permitted|after SIGKILL`, 0)
		p.wantNothingLeft()
	})
}
