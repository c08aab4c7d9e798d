package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// groupFlags and workerFlags are the ways to ask for a mode of --forward.
var (
	groupFlags  = []string{"-g", "--group", "--forward=group"}
	workerFlags = []string{"-c", "--single-child", "--forward=worker"}
)

func TestGroupModeTellsTheWorkersGroupOnce(t *testing.T) {
	for _, flag := range groupFlags {
		t.Run(flag, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1, Args: []string{flag}},
					"a[TERM,USR1=7](b[TERM,USR1=0] c[TERM,USR1=0](d))", "a b c d")
				p.signal(unix.SIGTERM)
				for _, name := range []string{"a", "b", "c"} {
					p.waitOut(`^` + name + ` got TERM`)
				}
				p.signal(unix.SIGUSR1)
				p.wantExit(7)
				p.wantGots("a got TERM", "b got TERM", "c got TERM", "a got USR1", "b got USR1", "c got USR1")
			})
		})
	}
}

// What has left the group is a leftover when the worker has gone, and signalled then;
// who was signalled with the group is not signalled again.
func TestGroupModeSignalsLeftoversThatWereNotSignalled(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a[TERM=7](b[TERM] c[pgrp,TERM=0])", "a b c")
		b := p.pidOf("b")
		p.signal(unix.SIGTERM)
		p.waitOut(`^c got TERM`)
		p.waitOut(`^b got TERM`)
		if err := unix.Kill(b, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		p.wantExit(7)
		p.wantGots("a got TERM", "b got TERM", "c got TERM")
	})
}

func TestGroupModePassesSignalsToTheGroup(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"-g"}},
			"a[USR1](b[USR1](c[USR1]) d[-USR1] e[pgrp,USR1](f[USR1]))", "a b c d e f")
		p.signal(unix.SIGUSR1)
		for _, name := range []string{"a", "b", "c"} {
			p.waitOut(`^` + name + ` got USR1`)
		}
		p.signal(unix.SIGTERM)
		p.wantExit(143)
		p.wantGots("a got USR1", "b got USR1", "c got USR1")
	})
}

// As kill(-pgid) does, so that it ends those that do not handle it.
func TestGroupModeEndsThoseThatDoNotCatchASignal(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"-g"}}, "a(b)", "a b")
		p.signal(unix.SIGHUP)
		p.wantExit(129)
		p.wantNothingLeft()
	})
}

func TestWorkerModeGivesSignalsToTheWorkerAlone(t *testing.T) {
	for _, flag := range workerFlags {
		t.Run(flag, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				p := startTree(t, Launch{NoPID1: noPID1, Args: []string{flag}},
					"a[USR1,CONT,TERM](b[USR1,CONT,TERM,HUP] c)", "a b c")
				for _, sig := range []string{"USR1", "CONT", "TERM"} {
					p.signal(unix.SignalNum("SIG" + sig))
					p.waitOut(`^a got ` + sig)
				}
				p.signal(unix.SIGHUP) // only b handles it, and a dies of it
				p.wantExit(129)
				p.wantGots("a got USR1", "a got CONT", "a got TERM")
			})
		})
	}
}

// drainit ends with its worker, whose leftovers are sent nothing before they are killed.
func TestWorkerModeTellsNoLeftovers(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		p := startTree(t, Launch{NoPID1: noPID1, Args: []string{"-c", "--grace", "1h"}}, "a[TERM=7](b[TERM] c)", "a b c")
		p.signal(unix.SIGTERM)
		p.wantExit(7)
		p.wantGots("a got TERM")
		p.wantNothingLeft()
		if !strings.Contains(p.err(), "killing") {
			t.Errorf("no line says who was killed:\n%s", p.err())
		}
	})
}
