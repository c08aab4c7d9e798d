package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// move is a command line of another init's, and drainit's that does the same.
type move struct {
	peer    string
	flags   string
	drainit string
	noPID1  bool
	does    func(t *testing.T, l harness.Launch) string
	want    string
}

// moves are what docs/migrating.md says of moving from other inits, flag by flag.
var moves = []move{
	{peer: "tini", flags: "-e 143", drainit: "-e 143", does: statusOfTerminated, want: "0"},
	{peer: "tini", flags: "-s", drainit: "-s", noPID1: true, does: whoAdopts, want: "the init"},
	{peer: "tini", flags: "-w", drainit: "-w", does: saysOfAnOrphan, want: "reaped"},
	{peer: "tini", flags: "-p SIGINT", drainit: "-p SIGINT", noPID1: true, does: getsAtTheParentsDeath, want: "SIGINT"},
	{peer: "tini", drainit: "-c", does: tells(unix.SIGTERM), want: "SIGTERM"},
	{peer: "tini", flags: "-g", drainit: "-g", does: tellsBoth(unix.SIGTERM), want: "SIGTERM, child: SIGTERM"},
	{peer: "dumb-init", drainit: "-g", does: tellsBoth(unix.SIGTERM), want: "SIGTERM, child: SIGTERM"},
	{peer: "dumb-init", flags: "-c", drainit: "-c", does: tells(unix.SIGTERM), want: "SIGTERM"},
	{peer: "dumb-init", flags: "--single-child --verbose -r 15:2 --rewrite 1:0", drainit: "--single-child --verbose -r 15:2 --rewrite 1:0",
		does: tells(unix.SIGHUP, unix.SIGTERM), want: "SIGINT"},
	{peer: "dumb-init", flags: "-r 15:2", drainit: "-g -r 15:2", does: tellsBoth(unix.SIGTERM), want: "SIGINT, child: SIGINT"},
	{peer: "catatonit", drainit: "-c", does: tells(unix.SIGTERM), want: "SIGTERM"},
	{peer: "catatonit", flags: "-g", drainit: "-g", does: tellsBoth(unix.SIGTERM), want: "SIGTERM, child: SIGTERM"},
	{peer: "catatonit", noPID1: true, does: whoAdopts, want: "the init"},
}

func TestMovingFromOtherInits(t *testing.T) {
	t.Parallel()
	harness.Need(t, peers[1:]...)
	for _, m := range moves {
		name := m.peer + " " + m.flags
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for init, l := range map[string]harness.Launch{
				name:                   {Bin: harness.PathOf(t, m.peer), Args: strings.Fields(m.flags)},
				"drainit " + m.drainit: {Bin: harness.DrainitBin, Args: strings.Fields(harness.LongGrace + " " + m.drainit)},
			} {
				l.NoPID1 = m.noPID1
				if got := m.does(t, l); got != m.want {
					t.Errorf("%s: %s, want %s", init, got, m.want)
				}
			}
		})
	}
}

func statusOfTerminated(t *testing.T, l harness.Launch) string {
	l.Args = append(l.Args, "--", "sh", "-c", "kill -TERM $$")
	return fmt.Sprint(harness.Run(t, l).Wait())
}

// tells sends the init signals, of which the last ends the worker, and returns
// what the worker, and its child in the background, got until it had drained.
func tells(sigs ...syscall.Signal) func(t *testing.T, l harness.Launch) string {
	return tellsUntil(`^drained`, sigs)
}

// tellsBoth is tells where the child gets something while the worker drains.
func tellsBoth(sigs ...syscall.Signal) func(t *testing.T, l harness.Launch) string {
	return tellsUntil(`^got (?s:.*)^child:got|^child:got (?s:.*)^got`, sigs)
}

var gotLine = regexp.MustCompile(`(?m)^(child:)?got (\w+)$`)

func tellsUntil(pattern string, sigs []syscall.Signal) func(t *testing.T, l harness.Launch) string {
	return func(t *testing.T, l harness.Launch) string {
		l.Args = append(l.Args, "--", "sh", "-c",
			`"$0" listen -catch TERM,INT,HUP -end "" -name child: & exec "$0" listen -catch TERM,INT,HUP -end TERM,INT -drain 500ms`, harness.WorkerBin)
		p := harness.Run(t, l)
		p.WaitOut(`^ready`)
		p.WaitOut(`^child:ready`)
		for _, sig := range sigs {
			p.Signal(sig)
		}
		p.WaitOut(pattern)
		signalled, _, _ := strings.Cut(p.Stdout.Text(), "drained") // what a leftover gets comes later
		var got []string
		for _, m := range gotLine.FindAllStringSubmatch(signalled, -1) {
			got = append(got, strings.TrimSpace(m[1]+" "+m[2]))
		}
		slices.SortFunc(got, func(a, b string) int { return len(a) - len(b) })
		return strings.Join(got, ", ")
	}
}

// whoAdopts is who gets a process whose parent has gone.
func whoAdopts(t *testing.T, l harness.Launch) string {
	l.Args = append(l.Args, "--", "sh", "-c", `(sleep 1000 & echo left); exec "$0" listen`, harness.WorkerBin)
	p := harness.Run(t, l)
	p.WaitOut(`^ready`)
	if len(harness.ChildPids(p.Pid())) == 2 {
		return "the init"
	}
	return "another"
}

func saysOfAnOrphan(t *testing.T, l harness.Launch) string {
	l.Args = append(l.Args, "--", "sh", "-c", `(sleep 0.1 &); exec "$0" listen`, harness.WorkerBin)
	p := harness.Run(t, l)
	p.WaitOut(`^ready`)
	p.WaitErr(`(?i)reaped`)
	return "reaped"
}

// getsAtTheParentsDeath is the signal that comes to the worker when the init's
// own parent is killed.
func getsAtTheParentsDeath(t *testing.T, l harness.Launch) string {
	l.Args = append([]string{"-c", `"$@" & wait`, "sh", l.Bin}, append(l.Args, "--", harness.WorkerBin, "listen", "-catch", "TERM,INT", "-end", "TERM,INT")...)
	l.Bin = "/bin/sh"
	p := harness.Run(t, l)
	p.WaitOut(`^ready`)
	p.Signal(unix.SIGKILL)
	return p.WaitOut(`^got (\w+)$`)[1]
}
