package diag

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/forward"
	"drainit/internal/proc"
	"drainit/internal/signals"
)

// workerPID is the worker's in these tests.
const workerPID = 10

// made is a process by its command line: what runs it is the file name of the first word.
func made(pid, ppid int, line ...string) proc.Process {
	exe := line[0][strings.LastIndex(line[0], "/")+1:]
	return proc.Process{ID: proc.ID{PID: pid}, PPID: ppid, State: 'S', Comm: exe, Exe: exe, Args: line}
}

// worker is the worker by its command line.
func worker(line ...string) proc.Process { return made(workerPID, 1, line...) }

func handling(p proc.Process, sigs ...unix.Signal) proc.Process {
	p.Handled = signals.SetOf(sigs...)
	return p
}

func ignoring(p proc.Process, sigs ...unix.Signal) proc.Process {
	p.Ignored = signals.SetOf(sigs...)
	return p
}

func dead(p proc.Process) proc.Process {
	p.State = 'Z'
	return p
}

// factsOf are those of a snapshot with these processes.
func factsOf(all ...proc.Process) Facts {
	return Facts{Snapshot: proc.New(all), Worker: workerPID, Self: "/drainit"}
}

// want compares a warning, of which "" is none.
func want(t *testing.T, got Warning, pid int, text string) {
	t.Helper()
	if text == "" {
		pid = 0
	}
	if got.Text != text || got.Process.PID != pid {
		t.Errorf("of %v: %q\nwant of [%d]: %q", got.Process, got.Text, pid, text)
	}
}

func TestParent(t *testing.T) {
	const before = "drainit's parent sh[1] is a shell, which passes no signal on, so no stop signal will reach drainit: not the shell form but "
	for _, tt := range []struct {
		name    string
		parent  proc.Process
		command []string
		text    string
	}{
		{"a shell", made(1, 0, "/bin/sh", "-c", "/drainit -- node app.js"), []string{"node", "app.js"},
			before + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]; in a script exec /drainit`},
		{"what may be a secret is not named", made(1, 0, "/bin/sh", "-c", "x"), []string{"worker", "--token", "x"},
			before + `ENTRYPOINT ["/drainit", "--", "worker", "..."]; in a script exec /drainit`},
		{"a shell that handles INT", handling(made(1, 0, "sh"), unix.SIGINT), []string{"worker"},
			before + `ENTRYPOINT ["/drainit", "--", "worker"]; in a script exec /drainit`},
		{"a shell with a trap", handling(made(1, 0, "sh"), unix.SIGTERM), []string{"worker"}, ""},
		{"another init", made(1, 0, "tini"), []string{"worker"}, ""},
		{"a launcher", made(1, 0, "node", "/usr/bin/npm", "start"), []string{"worker"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, Facts{Self: "/drainit"}.Parent(tt.parent, tt.command), 1, tt.text)
		})
	}
}

func TestKeepsSignals(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    proc.Process
		want bool
	}{
		{"a shell", worker("sh", "-c", "x"), true},
		{"a shell that handles INT", handling(worker("bash"), unix.SIGINT), true},
		{"a shell with a trap", handling(worker("bash"), unix.SIGTERM), false},
		{"npm", worker("node", "/usr/bin/npm", "start"), true},
		{"npm, with its runtime's handler", handling(worker("node", "/usr/bin/npm", "start"), unix.SIGTERM), true},
		{"go run", worker("go", "run", "."), true},
		{"pnpm", worker("node", "/usr/bin/pnpm", "start"), false},
		{"a program", worker("node", "app.js"), false},
	} {
		if got := KeepsSignals(tt.p); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// below is a program below the worker.
func below(pid, ppid int) proc.Process { return made(pid, ppid, "node", "app.js") }

const instead = "drainit will tell it, but exec form is better: "

func TestWrapped(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Facts
		text string
	}{
		{"sh -c", factsOf(worker("sh", "-c", "node app.js"), below(11, 10)),
			"sh[10] is a shell that does not pass signals on to node[11]; " + instead + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"a script", factsOf(worker("bash", "-e", "/app/start.sh"), below(11, 10)),
			"bash[10] is a shell that does not pass signals on to node[11]; " + instead + "let start.sh end with exec node app.js"},
		{"what may be a secret is not named", factsOf(worker("bash", "start.sh"), made(11, 10, "worker", "--token", "x")),
			"bash[10] is a shell that does not pass signals on to worker[11]; " + instead + "let start.sh end with exec worker ..."},
		{"npm", factsOf(worker("node", "/usr/bin/npm", "start"), made(11, 10, "sh", "-c", "node app.js"), below(12, 11)),
			"node[10] is a launcher (npm) that does not pass signals on to node[12]; " + instead + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"go run", factsOf(worker("go", "run", "."), made(11, 10, "/tmp/go-build1/exe/main")),
			"go[10] is a launcher (go run) that does not pass signals on to main[11]; " + instead + `go build -o /app, then ENTRYPOINT ["/drainit", "--", "/app"]`},
		{"shells in a row", factsOf(worker("sh", "-c", "x"), made(11, 10, "sh", "-c", "x"), made(12, 11, "bash", "run.sh"), below(13, 12)),
			"sh[10] is a shell that does not pass signals on to node[13]; " + instead + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"a shell and no more below it", factsOf(worker("sh", "-c", "x"), made(11, 10, "bash", "run.sh")),
			"sh[10] is a shell that does not pass signals on to bash[11]; " + instead + `ENTRYPOINT ["/drainit", "--", "bash", "run.sh"]`},
		{"several", factsOf(worker("sh", "-c", "x"), below(11, 10), below(12, 10)),
			"sh[10] is a shell that does not pass signals on to those below it; " + instead + `ENTRYPOINT ["/drainit", "--", "COMMAND", "ARG"]`},
		{"several, further down", factsOf(worker("sh", "run.sh"), made(11, 10, "sh", "-c", "x"), below(12, 11), below(13, 11)),
			"sh[10] is a shell that does not pass signals on to those below it; " + instead + "let run.sh end with exec COMMAND ARG"},
		{"one of two is dead", factsOf(worker("sh", "-c", "x"), dead(below(11, 10)), below(12, 10)),
			"sh[10] is a shell that does not pass signals on to node[12]; " + instead + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.f.Wrapped(), workerPID, tt.text) })
	}
}

// What drainit does in place of the shell depends on the mode and on the shell.
func TestWrappedByMode(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    Facts
		text string
	}{
		{"a shell that ignores TERM", factsOf(ignoring(worker("sh", "-c", "x"), unix.SIGTERM), below(11, 10)),
			"sh[10] is a shell that does not pass signals on to node[11]; it ignores SIGTERM, so drainit will tell what has a handler below it; do not ignore it, or use the exec form: " +
				`ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"the worker alone", inMode(forward.ModeWorker, factsOf(worker("sh", "-c", "x"), below(11, 10))),
			"sh[10] is a shell that does not pass signals on to node[11]; with --forward worker nobody else will tell it, so leave that out, or use the exec form: " +
				`ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"the worker's group", inMode(forward.ModeGroup, factsOf(worker("sh", "-c", "x"), below(11, 10))),
			"sh[10] is a shell that does not pass signals on to node[11]; " + instead + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.f.Wrapped(), workerPID, tt.text) })
	}
}

func TestNotWrapped(t *testing.T) {
	for name, f := range map[string]Facts{
		"none below":                 factsOf(worker("sh", "-c", "x")),
		"none alive below":           factsOf(worker("sh", "-c", "x"), dead(below(11, 10))),
		"a shell with a trap":        factsOf(handling(worker("sh", "-c", "x"), unix.SIGTERM), below(11, 10)),
		"a program":                  factsOf(worker("node", "app.js"), below(11, 10)),
		"a dead shell":               factsOf(dead(worker("sh", "-c", "x")), below(11, 10)),
		"a worker that is not shown": factsOf(below(11, 10)),
		"no /proc":                   {Worker: workerPID},
	} {
		t.Run(name, func(t *testing.T) { want(t, f.Wrapped(), 0, "") })
	}
}

func inMode(m forward.Mode, f Facts) Facts {
	f.Mode = m
	return f
}

func TestNoHandler(t *testing.T) {
	node := worker("node", "app.js")
	text := func(deliver, rewrite string) string {
		return "node[10] does not catch " + deliver + ", so it dies of it at once and nothing is drained: handle " + deliver +
			" in it, or choose a signal that it handles with --rewrite " + rewrite + ", say"
	}
	for _, tt := range []struct {
		name          string
		f             Facts
		came, deliver unix.Signal
		text          string
	}{
		{"TERM", factsOf(node), unix.SIGTERM, unix.SIGTERM, text("SIGTERM", "TERM:INT")},
		{"INT", factsOf(node), unix.SIGINT, unix.SIGINT, text("SIGINT", "INT:TERM")},
		{"another", factsOf(node), unix.SIGQUIT, unix.SIGQUIT, text("SIGQUIT", "QUIT:INT")},
		{"a rewrite", factsOf(node), unix.SIGTERM, unix.SIGUSR1, text("SIGUSR1", "TERM:INT")},
		{"a rewrite to INT", factsOf(node), unix.SIGTERM, unix.SIGINT, text("SIGINT", "TERM:TERM")},
		{"another handler", factsOf(handling(node, unix.SIGINT)), unix.SIGTERM, unix.SIGTERM, text("SIGTERM", "TERM:INT")},
		{"a handler", factsOf(handling(node, unix.SIGTERM)), unix.SIGTERM, unix.SIGTERM, ""},
		{"a handler of the rewrite", factsOf(handling(node, unix.SIGUSR1)), unix.SIGTERM, unix.SIGUSR1, ""},
		{"ignored", factsOf(ignoring(node, unix.SIGTERM)), unix.SIGTERM, unix.SIGTERM, ""},
		{"what ends no process", factsOf(node), unix.SIGTERM, unix.SIGWINCH, ""},
		{"it has a child, which may handle it", factsOf(node, below(11, 10)), unix.SIGTERM, unix.SIGTERM, ""},
		{"its child is dead", factsOf(node, dead(below(11, 10))), unix.SIGTERM, unix.SIGTERM, text("SIGTERM", "TERM:INT")},
		{"a dead worker", factsOf(dead(node)), unix.SIGTERM, unix.SIGTERM, ""},
		{"a worker that is not shown", factsOf(below(11, 10)), unix.SIGTERM, unix.SIGTERM, ""},
		{"no /proc", Facts{Worker: workerPID}, unix.SIGTERM, unix.SIGTERM, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.f.NoHandler(tt.came, tt.deliver), workerPID, tt.text) })
	}
}

func TestBlockedTrap(t *testing.T) {
	const text = "bash[10] can't run its trap until node[11] has ended, %does; in the script: %s & c=$!; trap 'kill $c' TERM; wait $c; wait $c"
	for line, words := range map[string]string{"node app.js": "node app.js", "node app.js --token=x": "node app.js ..."} {
		child := made(11, 10, strings.Fields(line)...)
		for handled, does := range map[signals.Set]string{signals.SetOf(unix.SIGTERM): "so drainit signals it itself", 0: "which has no handler and works on"} {
			child.Handled = handled
			got := BlockedTrap(worker("bash", "run.sh"), child)
			want(t, got, workerPID, strings.NewReplacer("%s", words, "%does", does).Replace(text))
		}
	}
}

// What warns must not act: the package knows no other of this module than these.
func TestWhatIsImported(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for path := range strings.FieldsSeq(string(out)) {
		if path == "drainit" || strings.HasPrefix(path, "drainit/") {
			got = append(got, path)
		}
	}
	slices.Sort(got)
	if allowed := []string{"drainit/forward", "drainit/internal/diag", "drainit/internal/proc", "drainit/internal/signals"}; !slices.Equal(got, allowed) {
		t.Errorf("%v, want %v", got, allowed)
	}
}
