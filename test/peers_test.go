package test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// peers are the inits of the comparison, in its order: Debian's packages.
var peers = []string{"drainit", "tini", "dumb-init", "catatonit"}

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
	need(t, peers[1:]...)
	page := verificationText(t)
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

// limit is how long to wait for what an init is to do, by a cell: as long as that takes,
// unless the cell says that nothing happens.
func limit(want string) time.Duration {
	switch want {
	case "hangs", "lives on", "not delivered", "works on":
		return hang
	}
	return patience
}

// startPeer starts an init of the comparison; drainit with a grace of a second.
func startPeer(t *testing.T, init string, l Launch, args ...string) *Init {
	t.Helper()
	l.Args = append([]string{"--"}, args...)
	if init == "drainit" {
		l.Args = append([]string{"-v", "--grace", "1s"}, l.Args...)
		return launch(t, l)
	}
	bin, err := exec.LookPath(init)
	if err != nil {
		t.Fatal(err)
	}
	l.Bin = bin
	return launch(t, l)
}

// ready starts a worker that prints "ready PID" and returns its pid out here.
func ready(t *testing.T, p *Init) int {
	t.Helper()
	var pid int
	if _, err := fmt.Sscan(p.waitOut(`^ready (\d+)`)[1], &pid); err != nil {
		t.Fatal(err)
	}
	return p.hostPid(pid)
}

// either waits until the init has ended, something is true, or time is up.
func either(p *Init, d time.Duration, ok func() bool) (ended bool) {
	for deadline := time.Now().Add(d); p.running() && !ok() && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	return !p.running()
}

func never() bool { return false }

func tstpCaught(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{}, workerBin, "listen", "-catch", "TSTP,USR1,TERM")
	pid := ready(t, p)
	p.signal(unix.SIGTSTP)
	frozen := func() bool { return stateOf(pid) == 'T' }
	got := func() bool { return strings.Contains(p.stdout.text(), "got SIGTSTP") }
	either(p, limit(want), func() bool { return frozen() || got() })
	switch {
	case got():
		return "delivered"
	case frozen():
		return "frozen"
	}
	return "not delivered"
}

func tstpNotCaught(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{}, "sh", "-c", "echo ready $$; exec sleep 3600")
	pid := ready(t, p)
	waitUntil(t, "the worker sleeps", func() bool { return comm(pid) == "sleep" })
	p.signal(unix.SIGTSTP)
	either(p, limit(want), func() bool { return stateOf(pid) == 'T' })
	if stateOf(pid) == 'T' {
		return "frozen"
	}
	return "works on"
}

func comm(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(b))
}

func termToStopped(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{}, workerBin, "listen")
	pid := ready(t, p)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the worker is stopped", func() bool { return stateOf(pid) == 'T' })
	p.signal(unix.SIGTERM)
	if either(p, limit(want), never) && strings.Contains(p.out(), "drained") {
		return "drains"
	}
	return "hangs"
}

func termIgnored(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{}, "sh", "-c", `trap "" TERM; echo ready $$; while :; do sleep 1; done`)
	ready(t, p)
	p.signal(unix.SIGTERM)
	if init == "drainit" {
		return fmt.Sprintf("killed, %d", p.wait())
	}
	if either(p, limit(want), never) {
		return "ends"
	}
	return "hangs"
}

func secondTerm(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{}, workerBin, "listen", "-drain", "1h")
	ready(t, p)
	p.signal(unix.SIGTERM)
	p.waitOut("^got SIGTERM")
	pastTheSameRequest()
	p.signal(unix.SIGTERM)
	either(p, limit(want), func() bool { return strings.Count(p.stdout.text(), "got SIGTERM") == 2 })
	if p.running() {
		return "passed on"
	}
	return "kills"
}

func leftoverWorks(t *testing.T, init, _ string) string {
	stdin, exit := pipe(t)
	p := startPeer(t, init, Launch{Stdin: stdin}, "sh", "-c", `"$0" listen -drain 300ms & read line; exit 0`, workerBin)
	p.waitOut("^ready")
	exit.Close() // and so does the shell
	p.wait()
	if strings.Contains(p.out(), "drained") {
		return "drains"
	}
	return "killed"
}

func initKilled(t *testing.T, init, want string) string {
	p := startPeer(t, init, Launch{NoPID1: true}, workerBin, "listen")
	pid := ready(t, p)
	if init == "drainit" {
		p.waitErr("started")
	}
	p.signal(unix.SIGKILL)
	p.wait()
	for deadline := time.Now().Add(limit(want)); stateOf(pid) != 0 && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond)
	}
	if strings.Contains(p.stdout.text(), "got SIGTERM") {
		return "gets TERM"
	}
	return "lives on"
}

func badCommand(t *testing.T, init, _ string) string {
	// A folder in PATH that may not be searched would make it "not permitted".
	l := Launch{Env: []string{"PATH=/usr/bin:/bin"}}
	return fmt.Sprintf("%d, %d", startPeer(t, init, l, "no-such-command").wait(), startPeer(t, init, l, "/etc/passwd").wait())
}

func noDashes(t *testing.T, init, _ string) string {
	l := Launch{Args: []string{"sh", "-c", "exit 3"}}
	if init != "drainit" {
		l.Bin, _ = exec.LookPath(init)
	}
	if status := launch(t, l).wait(); status != 3 {
		return "refused"
	}
	return "runs"
}
