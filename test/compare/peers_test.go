// Package compare tests the other inits: what they do, and how to move from them.
package compare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/console"
)

// peers are the inits of the comparison, in its order: Debian's packages.
var peers = harness.Words("drainit tini dumb-init catatonit")

// rows are the comparison in docs/verification.md: what happens, in one or two words.
var rows = []struct {
	name string
	run  func(t *testing.T, init, want string) string
}{
	{"TSTP, the worker handles it", tstpCaught},
	{"TSTP, the worker does not handle it", tstpNotCaught},
	{"TERM, the worker is stopped", termToStopped},
	{"TERM, the worker ignores it", termIgnored},
	{"a second TERM", secondTerm},
	{"the worker exits, its child still works", leftoverWorks},
	{"the init gets SIGKILL, not PID 1", initKilled},
	{"COMMAND not found, not executable", badCommand},
	{"`INIT sh -c 'exit 3'`, without `--`", noDashes},
	{"Ctrl-Z under a shell", ctrlZAtAShell},
	{"`INIT COMMAND &`", ampersandAtAShell},
	{"Ctrl-C in a shell's loop", ctrlCInALoop},
}

// hang is how long an init must do nothing to be called hanging, and for how
// long a worker must not be frozen to be called working.
const hang = 2 * time.Second

// TestComparison runs each row under each init and holds docs/verification.md to it.
func TestComparison(t *testing.T) {
	harness.Need(t, peers[1:]...)
	page := harness.TextOf(t, harness.Repo("docs", "verification.md"))
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, wanted, _ := strings.Cut(page, "\n| "+row.name+" | ")
			wanted, _, _ = strings.Cut(wanted, " |\n")
			want := strings.Split(wanted, " | ")
			if len(want) != len(peers) {
				t.Fatalf("%q in docs/verification.md", want)
			}
			var cells []string
			for i, init := range peers {
				cells = append(cells, row.run(t, init, want[i]))
			}
			t.Log(row.name, cells)
			if !slices.Equal(cells, want) {
				t.Errorf("the docs say %q, and they are %q", want, cells)
			}
		})
	}
}

// happens waits until something is so, and says then how a cell calls it: as long as that takes,
// unless the cell says that it does not happen.
func happens(want string, ok func() bool, yes, no string) string {
	limit := harness.Patience
	if want == no {
		limit = hang
	}
	if harness.Within(limit, ok) {
		return yes
	}
	return no
}

// startPeer starts an init of the comparison; drainit with a grace that has no end, or one by
// the environment.
func startPeer(t *testing.T, init string, l harness.Launch, args ...string) *harness.Init {
	t.Helper()
	l.Args = append([]string{"--"}, args...)
	if init == "drainit" {
		l.Env = append([]string{"DRAINIT_GRACE=infinity"}, l.Env...)
		l.Args = append([]string{"-v"}, l.Args...)
		return harness.Run(t, l)
	}
	l.Bin = init
	return harness.Run(t, l)
}

func isStopped(pid int) bool { return harness.StateOf(pid) == 'T' }

func tstpCaught(t *testing.T, init, want string) string {
	p := startPeer(t, init, harness.Launch{}, harness.WorkerBin, "listen", "-catch", "TSTP,USR1,TERM")
	pid := p.ReadyPid(`^ready`)
	p.Signal(unix.SIGTSTP)
	got := func() bool { return strings.Contains(p.Stdout.Text(), "got SIGTSTP") }
	answer := happens(want, func() bool { return isStopped(pid) || got() }, "frozen", "not delivered")
	if got() {
		return "delivered"
	}
	return answer
}

func tstpNotCaught(t *testing.T, init, want string) string {
	p := startPeer(t, init, harness.Launch{}, "sh", "-c", "echo ready $$; exec sleep 3600")
	pid := p.ReadyPid(`^ready`)
	harness.WaitUntil(t, "the worker sleeps", func() bool { return harness.Comm(pid) == "sleep" })
	p.Signal(unix.SIGTSTP)
	return happens(want, func() bool { return isStopped(pid) }, "frozen", "works on")
}

func termToStopped(t *testing.T, init, want string) string {
	p := startPeer(t, init, harness.Launch{}, harness.WorkerBin, "listen")
	harness.Freeze(t, p.ReadyPid(`^ready`))
	p.Signal(unix.SIGTERM)
	return happens(want, func() bool { return !p.Running() && strings.Contains(p.Out(), "drained") },
		"drains", "hangs")
}

func termIgnored(t *testing.T, init, want string) string {
	p := startPeer(t, init, harness.Launch{Env: []string{"DRAINIT_GRACE=1s"}}, "sh", "-c",
		`trap "" TERM; echo ready $$; while :; do sleep 1; done`)
	p.ReadyPid(`^ready`)
	p.Signal(unix.SIGTERM)
	if init == "drainit" {
		return fmt.Sprintf("killed, %d", p.Wait())
	}
	return happens(want, func() bool { return !p.Running() }, "ends", "hangs")
}

func secondTerm(t *testing.T, init, _ string) string {
	p := startPeer(t, init, harness.Launch{}, harness.WorkerBin, "listen", "-drain", "1h")
	p.ReadyPid(`^ready`)
	p.Signal(unix.SIGTERM)
	p.WaitOut("^got SIGTERM")
	harness.PastTheSameRequest()
	p.Signal(unix.SIGTERM)
	harness.WaitUntil(t, "it does something", func() bool {
		return !p.Running() ||
			strings.Count(p.Stdout.Text(), "got SIGTERM") == 2
	})
	if p.Running() {
		return "passed on"
	}
	return "kills"
}

func leftoverWorks(t *testing.T, init, _ string) string {
	stdin, exit := harness.Pipe(t)
	p := startPeer(t, init, harness.Launch{Stdin: stdin}, "sh", "-c",
		`"$0" listen -drain 300ms & read line; exit 0`, harness.WorkerBin)
	p.WaitOut("^ready")
	exit.Close() // and so does the shell
	p.Wait()
	if strings.Contains(p.Out(), "drained") {
		return "drains"
	}
	return "killed"
}

func initKilled(t *testing.T, init, want string) string {
	p := startPeer(t, init, harness.Launch{NoPID1: true}, harness.WorkerBin, "listen")
	p.ReadyPid(`^ready`)
	if init == "drainit" {
		p.WaitErr("started")
	}
	p.Signal(unix.SIGKILL)
	return happens(want, func() bool { return strings.Contains(p.Stdout.Text(), "got SIGTERM") },
		"gets TERM", "lives on")
}

func badCommand(t *testing.T, init, _ string) string {
	// A folder in PATH that may not be searched would make it "not permitted".
	l := harness.Launch{Env: []string{"PATH=/usr/bin:/bin"}}
	return fmt.Sprintf("%d, %d", startPeer(t, init, l, "no-such-command").
		Wait(), startPeer(t, init, l, "/etc/passwd").Wait())
}

func noDashes(t *testing.T, init, _ string) string {
	l := harness.Launch{Args: []string{"sh", "-c", "exit 3"}}
	if init != "drainit" {
		l.Bin = init
	}
	if harness.Run(t, l).Wait() != 3 {
		return "refused"
	}
	return "runs"
}

func TestMain(m *testing.M) { harness.Main(m) }

// What the inits of the comparison do at the prompt of an interactive bash.

// sleeper is a worker that does not read, and handles nothing.
const sleeper = " -- sh -c 'echo ready $$; exec sleep 3600'"

func ctrlZAtAShell(t *testing.T, init, want string) string {
	c := console.AtShell(t)
	c.Enter(init + sleeper)
	worker := c.Ready()
	harness.WaitUntil(c.T, "the worker sleeps", func() bool { return harness.Comm(worker) == "sleep" })
	c.Keys("\x1a")
	stopped := regexp.MustCompile(`(?m)^\[1\]\+ +Stopped`)
	return happens(want, func() bool { return stopped.MatchString(c.Shown()) }, "stops", "hangs")
}

// A shell that finds itself in the background at its prompt may exit.
func ampersandAtAShell(t *testing.T, init, _ string) string {
	c := console.AtShell(t)
	c.Enter(init + sleeper + " &")
	started := regexp.MustCompile(`ready \d`)
	harness.WaitUntil(c.T, "the worker is there", func() bool {
		return started.MatchString(c.Shown()) || !c.Running()
	})
	if group := c.Foreground(); !c.Running() || group != c.Pid() {
		return "takes the terminal"
	}
	return "stays in the background"
}

func ctrlCInALoop(t *testing.T, init, _ string) string {
	c := console.AtShell(t)
	c.Enter("for n in 1 2; do " + init + sleeper + "; done")
	c.Ready()
	c.Keys("\x03")
	if c.See(`ready \d|#130# `)[0] == "#130# " {
		return "ends the loop"
	}
	return "the next turn"
}
