package logging

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// tabled is a command line, the warnings that it must give, and whether one of them
// prints an ENTRYPOINT: then it must start the same as what ran behind the wrapper.
type tabled struct {
	command string
	want    string
	form    bool
	names   string // what one of the warnings must say
	script  string // start.sh
	flags   string
	hint    string // what an info line must say, "" for no PM2 in any
}

// warnedTable goes from the shells to the launchers, the programs themselves and those
// without a handler. Dash forks for its last command; bash and busybox exec it.
var warnedTable = []tabled{
	{command: "dash -c 'perl hold.pl'", want: "shell", form: true},
	{command: "dash -c '/usr/bin/perl ./hold.pl'", want: "shell", form: true},
	{command: "dash -c 'node hold.js'", want: "shell", form: true},
	{command: "dash -c '/usr/bin/python3 hold.py'", want: "shell", form: true},
	{command: "dash -c 'ruby hold.rb'", want: "shell", form: true},
	{command: "/bin/dash -c 'perl hold.pl'", want: "shell", form: true},
	// The same, and something beside.
	{command: "dash -ec 'perl hold.pl'", want: "shell"},
	{command: "dash -c 'perl hold.pl' x", want: "shell"},
	{command: "dash -c 'perl hold.pl;'", want: "shell"},
	{command: "dash -c 'perl hold.pl; :'", want: "shell", names: `put exec before the last command of the string after -c`},
	{command: "dash -c 'perl done.pl; perl hold.pl'", want: "shell"},
	{command: "dash -c 'perl done.pl && perl hold.pl'", want: "shell"},
	{command: "dash -c 'A=b perl hold.pl'", want: "shell"},
	{command: "dash -c 'env A=b perl hold.pl'", want: "shell"},
	{command: "dash -c 'env perl hold.pl'", want: "shell"},
	{command: "dash -c 'cd sub; perl ../hold.pl'", want: "shell"},
	{command: "dash -c 'cd sub && perl ../hold.pl'", want: "shell"},
	{command: `dash -c 'perl "hold.pl"'`, want: "shell"},
	{command: "dash -c 'perl $PWD/hold.pl'", want: "shell"},
	{command: "dash -c 'perl hol?.pl'", want: "shell"},
	{command: "dash -c 'perl hold.pl 2>&1'", want: "shell"},
	{command: "dash -c 'perl hold.pl | cat'", want: "shell", names: `those behind it.*with exec the one program`},
	{command: "dash -c 'perl hold.pl & wait'", want: "shell"},
	{command: "dash -c 'perl hold.pl hunter2'", want: "shell"},
	{command: "dash -c 'dash start.sh'", script: "perl hold.pl\n:\n", want: "shell"},
	{command: "dash -c 'setpriv --reuid=65534 --regid=65534 --clear-groups perl hold.pl'", want: "shell"},
	{command: "dash -c 'perl user.pl'", want: "shell"},
	{command: "dash -c 'perl folder.pl'", want: "shell"},
	{command: "dash -c 'java Hold.java'", want: "shell"},
	{command: "dash -c 'timeout 60 perl hold.pl'", want: "shell"},
	{command: "bash -c 'perl hold.pl; exit $?'", want: "shell"},
	{command: "busybox sh -c 'perl hold.pl; exit $?'", want: "shell"},
	{command: "dash -c 'npm start'", want: "shell"},
	{command: `dash -c 'trap "" TERM; perl hold.pl; :'`, want: "shell", names: `do not ignore SIGTERM`},
	{command: `dash -c 'trap "exit 3" TERM; perl hold.pl; :'`, want: "trap"},
	{command: "dash -c 'exec perl hold.pl'"},
	{command: "dash -c 'cd sub; exec perl ../hold.pl'"},
	{command: "bash -c 'perl hold.pl'"},
	{command: "bash -c 'cd sub && perl ../hold.pl'"},
	{command: "busybox sh -c 'perl hold.pl'"},
	{command: `dash -c 'trap "kill \$c" TERM; perl hold.pl & c=$!; wait $c; wait $c'`},
	// Scripts.
	{command: "./start.sh", script: "#!/bin/dash\nperl hold.pl\n", want: "shell", names: `in start\.sh put exec before the command as it stands there`},
	{command: "dash start.sh", script: "cd sub\nperl ../hold.pl\n", want: "shell"},
	{command: "dash start.sh", script: "setpriv --reuid=65534 --regid=65534 --clear-groups perl hold.pl\n", want: "shell"},
	{command: "bash start.sh", script: "env -u A perl hold.pl\n:\n", want: "shell"},
	{command: "dash start.sh", script: "cd sub\nexec perl ../hold.pl\n"},
	{command: "bash start.sh", script: "exec setpriv --reuid=65534 --regid=65534 --clear-groups perl hold.pl\n"},
	// Launchers.
	{command: "npm start", want: "launcher", names: `start perl itself, without npm`},
	{command: "npm run two", want: "launcher"},
	{command: "npm run execs", want: "launcher"},
	{command: "npx holds", want: "launcher"},
	{command: "yarn start", want: "launcher", names: `\(yarn\) stands between drainit and perl`},
	{command: "pnpm start"},
	{command: "go run main.go", want: "launcher", names: `go build -o /app`},
	// Programs.
	{command: "perl hold.pl"}, {command: "node hold.js"}, {command: "/usr/bin/python3 hold.py"},
	{command: "ruby hold.rb"}, {command: "java Hold.java"}, {command: "worker listen -drain 10ms"}, {command: "timeout 60 perl hold.pl"},
	{command: "perl bare.pl", want: "handler"},
	{command: "/usr/bin/python3 bare.py", want: "handler", names: `flight\. Add a handler, or send the signal it handles: --rewrite TERM:INT`},
	{command: "/usr/bin/python3 bare.py", flags: "--rewrite TERM:INT"},
	{command: "node bare.js", want: "death", names: `^node\[\d+\] died of SIGTERM at once: it may have no handler of its own, and what it was doing is lost$`},
	{command: "worker listen -catch QUIT", want: "death"},
	{command: "perl bare.pl", flags: "--forward worker", want: "death"},
	{command: "perl hold.pl", flags: "--forward worker"},
	{command: "dash -c 'perl hold.pl & perl bare2.pl & wait'", want: "shell handler", names: `^perl\[\d+\] has no SIGTERM handler`},
	{command: "dash -c 'perl bare2.pl & perl bare2.pl & perl bare2.pl & perl bare2.pl & perl bare.pl; :'", want: "shell handler",
		names: `^perl\[\d+\], perl\[\d+\], perl\[\d+\] and \d more have no SIGTERM handler`},
	{command: "dash -c 'perl hold.pl & while :; do sleep 0.1; done'", want: "shell"},
	{command: "dash -c 'node bare.js; :'", want: "shell death"},
	{command: "npm run bare", want: "launcher handler"},
	{command: "dash -c 'PYTHONUNBUFFERED=1 /usr/bin/python3 start.sh; :'", want: "shell",
		script: "import os, signal, time\nsignal.pthread_sigmask(0, [15])\nprint('ready', os.getpid())\nsignal.sigwait([15])\n"},
	// PM2 has a limit of its own.
	{command: "pm2-runtime start hold.js", hint: `PM2 kills its processes 1\.6s after the stop signal: set PM2_KILL_TIMEOUT`},
	{command: "npx pm2-runtime start hold.js", want: "launcher", hint: `PM2 kills its processes`},
	{command: "env PM2_KILL_TIMEOUT=5000 pm2-runtime start hold.js"},
}

func TestTableOfWarnings(t *testing.T) {
	t.Parallel()
	for _, w := range warnedTable {
		t.Run(strings.TrimSpace(w.flags+" "+w.command+" "+strings.ReplaceAll(w.script, "\n", "; ")), func(t *testing.T) {
			t.Parallel()
			needAll(t, splitAll(w.command+" "+w.script))
			if strings.Contains(w.command+w.script, "setpriv") || strings.Contains(w.command, "user.pl") {
				harness.NeedRoot(t)
			}
			dir, env := tableFolder(t)
			if w.script != "" {
				harness.WriteProgram(t, dir, "start.sh", 0o755, w.script)
			}
			env = append(env, "PM2_DISABLE_VERSION_CHECK=true", "PM2_HOME="+dir+"/.pm2")
			args := append(strings.Fields(w.flags), "--log-format=json", warnedGrace, "--")
			p := harness.Run(t, harness.Launch{Dir: dir, Env: env, Args: append(args, splitWords(w.command)...)})
			ran := readyPlace(p)
			if strings.HasPrefix(w.command, "pnpm") { // whose handler may come behind what it starts
				harness.WaitUntil(t, "pnpm handles TERM", func() bool { return harness.SignalMask(t, p.FirstChild(), "SigCgt")&(1<<(unix.SIGTERM-1)) != 0 })
			}
			warned{}.stop(p)
			if strings.Contains(w.want, "death") && !diedAtOnce(t, p) && !strings.Contains(p.Err(), " at once: it may have no handler") {
				t.Log("on a busy machine it took longer to die, and that tells of nothing")
				w.want, w.names = strings.TrimSpace(strings.ReplaceAll(w.want, "death", "")), ""
			}
			wantWarnings(t, p, w.want)
			w.wantWords(t, p)
			if form := w.pasteable(t, p); form != nil {
				p = harness.Run(t, harness.Launch{Bin: form[0], Args: form[1:], Dir: dir, Env: env})
				if now := readyPlace(p); now != ran {
					t.Errorf("as it was: %+v\npasted:   %+v\n%q", ran, now, form)
				}
				warned{}.stop(p)
				p.WantExit(0)
				wantWarnings(t, p, "")
			}
		})
	}
}

// diedAtOnce reports whether the stop took less than the 0.1 s within which a death tells
// that there was no handler.
func diedAtOnce(t *testing.T, p *harness.Init) bool {
	t.Helper()
	took, err := strconv.ParseFloat(p.WaitErr(`"msg":"stopped after .*"duration_s":([\d.]+)`)[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return took < 0.1
}

// standing is what runs, as which user and where.
type standing struct{ exe, line, ids, dir string }

// readyPlace waits until all is there and is that of the process which said that it was
// ready.
func readyPlace(p *harness.Init) standing {
	p.T.Helper()
	pid := p.HostPid(readyInside(p))
	warned{comm: harness.Comm(p.FirstChild())}.awaitReady(p)
	read := func(link string) string {
		target, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, link))
		if err != nil {
			p.T.Fatal(err)
		}
		return target
	}
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		p.T.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		p.T.Fatal(err)
	}
	ids := regexp.MustCompile(`(?m)^[UG]id:.*$`).FindAllString(string(status), -1)
	return standing{read("exe"), string(line), strings.Join(ids, " "), read("cwd")}
}

// readyInside is the pid that a process said it had, when all that say so have, and those
// without a handler sleep: drainit waits for no process that is awake.
func readyInside(p *harness.Init) (pid int) {
	p.T.Helper()
	bare := strings.Count(strings.Join(p.Cmd.Args, " "), "bare2.pl")
	harness.WaitUntil(p.T, "all are there", func() bool { return strings.Count(p.Out(), "bare ") == bare })
	for _, said := range regexp.MustCompile(`bare (\d+)`).FindAllStringSubmatch(p.Out(), -1) {
		inside, _ := strconv.Atoi(said[1])
		bare := p.HostPid(inside)
		harness.WaitUntil(p.T, "it sleeps", func() bool { return harness.StateOf(bare) == 'S' })
	}
	if _, err := fmt.Sscan(p.WaitOut(`ready (\d+)`)[1], &pid); err != nil {
		p.T.Fatal(err)
	}
	return pid
}

// wantWords checks what the warnings, and the line about PM2, say.
func (w tabled) wantWords(t *testing.T, p *harness.Init) {
	t.Helper()
	_, lines := warningsIn(p.Err())
	said, hinted := w.names == "", w.hint == ""
	for _, l := range lines {
		msg := l["msg"].(string)
		isHint := strings.Contains(msg, "PM2_KILL_TIMEOUT")
		said = said || l["level"] == "warn" && regexp.MustCompile(w.names).MatchString(msg)
		hinted = hinted || isHint && l["level"] == "info" && regexp.MustCompile(w.hint).MatchString(msg)
		if isHint && w.hint == "" {
			t.Errorf("a line about PM2: %s", msg)
		}
	}
	if !said || !hinted {
		t.Errorf("no warning %q, or no line %q, in\n%s", w.names, w.hint, p.Err())
	}
}

// pasteable is the ENTRYPOINT that a warning prints, of which there must be one only where
// the table says so.
func (w tabled) pasteable(t *testing.T, p *harness.Init) []string {
	t.Helper()
	if w.form {
		return pasted(t, p)
	}
	if strings.Contains(p.Err(), "ENTRYPOINT [") {
		t.Errorf("it can't be true:\n%s", p.Err())
	}
	return nil
}

// splitAll are the programs' names in a command line and a script.
func splitAll(text string) (words []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n'\";/!#", r) }) {
		words = append(words, filepath.Base(word))
	}
	return words
}

// A drainit below a shell that is PID 1 is reached when it is started as the line says.
func TestFormOfAParentCanBePasted(t *testing.T) {
	t.Parallel()
	for command, form := range map[string]bool{
		"dash -c 'D -v -- perl hold.pl'": true, "dash -c 'D -v --grace=60s perl hold.pl'": true, "dash -c 'cd sub; D -v -- perl ../hold.pl'": false,
		"dash -c 'D -v -- perl hold.pl; :'": false, "dash -c 'D -v -- perl hold.pl hunter2'": false, "dash -c 'D -v -- perl $PWD/hold.pl'": false,
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			harness.Need(t, "dash", "perl")
			dir, env := tableFolder(t)
			env = append(env, "DRAINIT_LOG_FORMAT=json")
			words := splitWords(strings.ReplaceAll(command, "D ", harness.DrainitBin+" "))
			p := harness.Run(t, harness.Launch{Bin: "/bin/" + words[0], Args: words[1:], Dir: dir, Env: env})
			pid := p.HostPid(readyInside(p))
			before, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				t.Fatal(err)
			}
			p.WaitErr(`parent \S+\[1\] is a shell`)
			signalBelow(p, syscall.SIGTERM)
			p.Wait()
			wantWarnings(t, p, "parent")
			w := tabled{form: form}
			now := w.pasteable(t, p)
			if now == nil {
				return
			}
			p = harness.Run(t, harness.Launch{Bin: now[0], Args: now[1:], Dir: dir, Env: env})
			if after := readyPlace(p); after.line != string(before) || after.dir != dir {
				t.Errorf("%+v, want %q in %s", after, before, dir)
			}
			warned{}.stop(p) // PID 1 itself gets it
			p.WantExit(0)
			wantWarnings(t, p, "")
		})
	}
}
