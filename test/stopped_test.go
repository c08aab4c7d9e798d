package test

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A stopped process sees no TERM before it is continued, by which peers hang.
func TestStoppedWorkerIsContinuedToDrain(t *testing.T) {
	for _, mode := range []string{"auto", "group", "worker"} {
		t.Run(mode, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"--forward", mode}}, "a[TERM=7]", "a")
				freeze(t, p.pidOf("a"))
				p.signal(unix.SIGTERM)
				p.wantExit(7)
				p.wantGots("a got TERM")
			})
		})
	}
}

func TestStoppedWorkerWithoutAHandlerDies(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1}, "a", "a")
		freeze(t, p.pidOf("a"))
		p.signal(unix.SIGINT)
		p.wantExit(130)
	})
}

func TestStoppedMembersOfTheGroupAreContinued(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a[TERM,CONT,USR1=7](b[TERM,CONT,USR1=0] c[TERM,CONT,USR1=0])", "a b c")
		freeze(t, p.pidOf("b"))
		p.signal(unix.SIGTERM)
		for _, line := range []string{"a got TERM", "c got TERM", "b got TERM", "b got CONT"} {
			p.waitOut(`^` + line)
		}
		p.signal(unix.SIGUSR1)
		p.wantExit(7)
		p.wantGots("a got TERM", "b got TERM", "c got TERM", "b got CONT", "a got USR1", "b got USR1", "c got USR1")
	})
}

// A stopped leftover is signalled and continued as the worker is.
func TestStoppedLeftoverIsContinued(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1}, "a(b[TERM=0])", "a b")
		freeze(t, p.pidOf("b"))
		p.signal(unix.SIGTERM)
		p.wantExit(143)
		p.wantGots("b got TERM")
	})
}

// CONT tells a worker to resume, where it was quieted by TSTP: one that is not
// stopped must not get it with its TERM.
func TestWorkerThatIsNotStoppedGetsNoCont(t *testing.T) {
	for _, mode := range []string{"auto", "group", "worker"} {
		t.Run(mode, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"--forward", mode}},
					"a[TSTP,CONT,TERM,USR1=7]", "a")
				p.signal(unix.SIGTSTP)
				p.waitOut(`^a got TSTP`)
				p.signal(unix.SIGTERM)
				p.waitOut(`^a got TERM`)
				p.signal(unix.SIGUSR1)
				p.wantExit(7)
				p.wantGots("a got TSTP", "a got TERM", "a got USR1")
			})
		})
	}
}

// freeze stops a process, as a debugger or a shell's Ctrl-Z would.
func freeze(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "stopped", func() bool { return stateOf(pid) == 'T' })
}
