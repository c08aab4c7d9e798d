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
func factsOf(all ...proc.Process) *Facts {
	return &Facts{Snapshot: proc.New(all), Worker: workerPID, Self: 1}
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

// begun is how the drainit of these tests was started.
func begun(args ...string) *Start {
	n := slices.Index(args, "--") + 1
	return &Start{Args: args, Command: args[n:], Path: "/drainit", Dir: "/srv", User: "0"}
}

// placed is a process with its place: where drainit was started, and as which user.
func placed(p proc.Process) proc.Process {
	p.Around = &proc.Surroundings{Dir: "/srv", User: "0"}
	return p
}

func TestParent(t *testing.T) {
	const before = "drainit's parent sh[1] is a shell that does not forward signals, so no stop signal reaches drainit. Better: "
	const general = before + "use the exec form of ENTRYPOINT, with drainit as its first word"
	shell := func(text string) proc.Process { return placed(made(1, 0, "/bin/sh", "-c", text)) }
	simple := begun("/drainit", "--", "node", "app.js")
	elsewhere, another := begun(simple.Args...), begun(simple.Args...)
	elsewhere.Dir, another.User = "/", "1"
	for _, tt := range []struct {
		name  string
		above proc.Process
		start *Start
		text  string
	}{
		{"one simple command", shell("/drainit -- node app.js"), simple, before + `ENTRYPOINT ["/drainit", "--", "node", "app.js"]`},
		{"its flags stay", shell("/drainit --grace=5s -v -- node app.js"), begun("/drainit", "--grace=5s", "-v", "--", "node", "app.js"),
			before + `ENTRYPOINT ["/drainit", "--grace=5s", "-v", "--", "node", "app.js"]`},
		{"more than that", shell("cd /app; /drainit -- node app.js"), simple, general},
		{"a variable", shell("/drainit -- node $APP"), simple, general},
		{"what may be a secret is not named", shell("/drainit -- worker --token x"), begun("/drainit", "--", "worker", "--token", "x"), general},
		{"another folder", shell("/drainit -- node app.js"), elsewhere, general},
		{"another user", shell("/drainit -- node app.js"), another, general},
		{"a script", made(1, 0, "/bin/sh", "/run.sh"), simple, before + "in run.sh put exec before drainit"},
		{"a shell that handles INT", handling(made(1, 0, "sh"), unix.SIGINT), simple, general},
		{"a shell with a trap", handling(made(1, 0, "sh"), unix.SIGTERM), simple, ""},
		{"another init", made(1, 0, "tini"), simple, ""},
		{"a launcher, which forwards it to drainit", made(1, 0, "node", "/usr/bin/npm", "start"), simple, ""},
		{"not PID 1", made(7, 1, "sh"), simple, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want(t, tt.start.Parent([]proc.Process{tt.above}), 1, tt.text)
		})
	}
}

func TestParentsUpToPID1(t *testing.T) {
	const text = "drainit's parent sh[9] is a shell that does not forward signals, so no stop signal reaches drainit. Better: use the exec form of ENTRYPOINT, with drainit as its first word"
	shell, npm := placed(made(9, 1, "sh", "-c", "/drainit -- node app.js")), made(1, 0, "node", "/usr/bin/npm", "start")
	for _, tt := range []struct {
		name  string
		above []proc.Process
		text  string
	}{
		{"shells", []proc.Process{shell, made(1, 0, "bash", "run.sh")}, text},
		{"npm", []proc.Process{shell, npm}, text},
		{"all of them", []proc.Process{shell, made(8, 7, "node", "/usr/bin/npx", "x"), made(7, 1, "sh", "-c", "x"), npm}, text},
		{"an init", []proc.Process{shell, made(1, 0, "tini")}, ""},
		{"a shell with a trap", []proc.Process{shell, handling(made(1, 0, "sh"), unix.SIGTERM)}, ""},
		{"PID 1 is not known", []proc.Process{shell, made(8, 7, "sh")}, ""},
		{"none", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, begun("/drainit", "--", "node", "app.js").Parent(tt.above), 9, tt.text) })
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
		{"yarn 1, or another", worker("node", "/usr/bin/yarn", "start"), true},
		{"yarn 4", worker("node", "/app/.yarn/releases/yarn-4.5.0.cjs", "start"), false},
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

// Of what is behind a shell or a launcher the program may be named, but no word of its
// command: those before it may have been env, gosu or cd.
func TestWrapped(t *testing.T) {
	const itself, dash = " does not forward signals, so drainit sends the stop signal to node[11] itself. Better: ", "put exec before the last command of the string after -c"
	for _, tt := range []struct {
		name string
		f    *Facts
		text string
	}{
		{"sh -c", factsOf(worker("sh", "-c", "node app.js"), below(11, 10)), "sh[10]" + itself + dash},
		{"a script", factsOf(worker("bash", "-e", "/app/start.sh"), below(11, 10)), "bash[10]" + itself + "in start.sh put exec before the command as it stands there"},
		{"a shell that reads its input", factsOf(worker("bash", "-s"), below(11, 10)), "bash[10]" + itself + "start the command with exec"},
		{"npm", factsOf(worker("node", "/usr/bin/npm", "start"), made(11, 10, "sh", "-c", "node app.js"), below(12, 11)),
			"node[10] (npm) does not forward signals, so drainit sends the stop signal to node[12] itself. Better: start node itself, without npm"},
		{"npm and a shell", factsOf(worker("node", "/usr/bin/npm", "start"), made(11, 10, "sh", "-c", "x")),
			"node[10] (npm) does not forward signals, so drainit sends the stop signal to sh[11] itself. Better: start the program itself, without npm"},
		{"npm and several", factsOf(worker("node", "/usr/bin/npm", "start"), below(11, 10), below(12, 10)),
			"node[10] (npm) does not forward signals, so drainit sends the stop signal to those behind it itself. Better: start the program itself, without npm"},
		{"a yarn that may forward them", factsOf(worker("node", "/usr/bin/yarn", "start"), below(11, 10)),
			"node[10] (yarn) stands between drainit and node[11]. Better: start node itself, without yarn"},
		{"yarn 1", factsOf(worker("node", "/x/yarn/bin/yarn.js", "start"), below(11, 10)), "node[10] (yarn)" + itself + "start node itself, without yarn"},
		{"go run", factsOf(worker("go", "run", "."), made(11, 10, "/tmp/go-build1/exe/main")),
			"go[10] (go run) does not forward signals, so drainit sends the stop signal to main[11] itself. Better: build it with go build -o /app, and start /app"},
		{"shells in a row", factsOf(worker("sh", "-c", "x"), made(11, 10, "sh", "-c", "x"), made(12, 11, "bash", "run.sh"), below(13, 12)),
			"sh[10] does not forward signals, so drainit sends the stop signal to node[13] itself. Better: " + dash},
		{"several", factsOf(worker("sh", "-c", "x"), below(11, 10), below(12, 10)),
			"sh[10] does not forward signals, so drainit sends the stop signal to those behind it itself. Better: start with exec the one program that does the work"},
		{"one of two is dead", factsOf(worker("sh", "-c", "x"), dead(below(11, 10)), below(12, 10)),
			"sh[10] does not forward signals, so drainit sends the stop signal to node[12] itself. Better: " + dash},
		{"a shell that ignores TERM", factsOf(ignoring(worker("sh", "-c", "x"), unix.SIGTERM), below(11, 10)),
			"sh[10] ignores SIGTERM, so drainit sends the stop signal to node[11] itself, if that handles it. Better: do not ignore SIGTERM, and " + dash},
		{"the worker alone", inMode(forward.ModeWorker, factsOf(worker("sh", "-c", "x"), below(11, 10))),
			"sh[10] does not forward signals, and with --forward worker drainit sends none to node[11]. Better: leave --forward worker out, and " + dash},
		{"the worker's group", inMode(forward.ModeGroup, factsOf(worker("sh", "-c", "x"), below(11, 10))), "sh[10]" + itself + dash},
	} {
		t.Run(tt.name, func(t *testing.T) { want(t, tt.f.Wrapped(), workerPID, tt.text) })
	}
}

// An ENTRYPOINT is printed only where it starts the same.
func TestExecForm(t *testing.T) {
	simple := func(change func(f *Facts)) *Facts {
		f := factsOf(worker("sh", "-c", "node app.js"), below(11, 10))
		f.Inner, f.Start = placed(below(11, 10)), begun("/drainit", "--grace=5s", "--", "sh", "-c", "node app.js")
		change(f)
		return f
	}
	for _, tt := range []struct {
		name   string
		change func(f *Facts)
		form   string
	}{
		{"the same", func(*Facts) {}, `ENTRYPOINT ["/drainit", "--grace=5s", "--", "node", "app.js"]`},
		{"of another name", func(f *Facts) { f.Start.Path = "/sbin/drainit" }, `ENTRYPOINT ["/sbin/drainit", "--grace=5s", "--", "node", "app.js"]`},
		{"it has gone", func(f *Facts) { f.Inner = proc.Process{} }, ""},
		{"its pid is another's", func(f *Facts) { f.Inner.Start++ }, ""},
		{"it may not be read", func(f *Facts) { f.Inner.Exe = "" }, ""},
		{"other words", func(f *Facts) { f.Inner.Args = []string{"node", "app.js", "x"} }, ""},
		{"another folder", func(f *Facts) { f.Inner.Around.Dir = "/" }, ""},
		{"another user", func(f *Facts) { f.Inner.Around.User = "1" }, ""},
		{"no folder is known", func(f *Facts) { f.Inner.Around.Dir, f.Start.Dir = "", "" }, ""},
		{"no user is known", func(f *Facts) { f.Inner.Around.User, f.Start.User = "", "" }, ""},
		{"busybox runs what it has", func(f *Facts) { f.Inner.Exe = "busybox.static" }, ""},
		{"bash reads a file", func(f *Facts) { f.Start.Env = []string{"BASH_ENV=/x"} }, ""},
		{"a flag that can't be pasted", func(f *Facts) { f.Start.Args = []string{"/drainit", `--health-addr="x"`, "sh", "-c", "node app.js"} }, ""},
		{"a path that can't be", func(f *Facts) { f.Start.Path = "/my drainit" }, ""},
		{"further down", func(f *Facts) {
			f.Snapshot = proc.New([]proc.Process{worker("sh", "-c", "node app.js"), made(12, 10, "sh", "run.sh"), below(11, 12)})
		}, ""},
		{"what may be a secret", func(f *Facts) {
			f.Snapshot = proc.New([]proc.Process{worker("sh", "-c", "node app.js hunter2"), below(11, 10)})
			f.Inner.Args = []string{"node", "app.js", "hunter2"}
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.form == "" {
				tt.form = "put exec before the last command of the string after -c"
			}
			want(t, simple(tt.change).Wrapped(), workerPID, "sh[10] does not forward signals, so drainit sends the stop signal to node[11] itself. Better: "+tt.form)
		})
	}
}

func TestNotWrapped(t *testing.T) {
	for name, f := range map[string]*Facts{
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

func inMode(m forward.Mode, f *Facts) *Facts {
	f.Mode = m
	return f
}

func TestBlockedTrap(t *testing.T) {
	const text = "bash[10] can't run its trap until node[11] exits, %. Better, in the script: COMMAND & c=$!; trap 'kill $c' TERM; wait $c; wait $c"
	for handled, does := range map[signals.Set]string{signals.SetOf(unix.SIGTERM): "so drainit signalled node[11] itself", 0: "which has no SIGTERM handler and works on"} {
		child := made(11, 10, "node", "app.js", "--token=x")
		child.Handled = handled
		want(t, BlockedTrap(worker("bash", "run.sh"), child), workerPID, strings.Replace(text, "%", does, 1))
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
