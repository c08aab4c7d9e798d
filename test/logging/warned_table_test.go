package logging

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// tabled is a command line, and the warnings that it must give.
type tabled struct {
	command string
	want    string
	names   string // what one of the warnings must say
	script  string // start.sh
	flags   string
	hint    string // what an info line must say, "" for no PM2 in any
}

// instead is what a line about a shell or a launcher says to write.
const instead = `\. Better: start the program itself, with exec where a shell starts it$`

// warnedTable goes from the shells to the launchers, the programs themselves and those
// without a handler. Dash forks for its last command; bash and busybox exec it.
var warnedTable = []tabled{
	{command: "dash -c 'perl hold.pl'", want: "shell", names: `^dash\[\d+\] does not forward signals, so drainit sends the stop signal to perl\[\d+\] itself` + instead},
	{command: "dash -c 'ruby hold.rb'", want: "shell"},
	{command: "dash -c 'java Hold.java'", want: "shell"},
	{command: "dash -c 'A=b perl hold.pl hunter2'", want: "shell"},
	{command: "dash -c 'cd sub && perl ../hold.pl'", want: "shell"},
	{command: "dash -c 'perl hold.pl | cat'", want: "shell", names: `to perl\[\d+\] itself`},
	{command: "dash -c 'perl hold.pl & wait'", want: "shell"},
	{command: "dash -c 'perl hold.pl & perl hold.pl & wait'", want: "shell", names: `to perl\[\d+\], perl\[\d+\] itself`},
	{command: "dash -c 'dash start.sh'", script: "perl hold.pl\n:\n", want: "shell", names: `to perl\[\d+\] itself`},
	{command: "dash -c 'setpriv --reuid=65534 --regid=65534 --clear-groups perl hold.pl'", want: "shell"},
	{command: "dash -c 'timeout 60 perl hold.pl'", want: "shell", names: `to timeout\[\d+\] itself`},
	{command: "bash -c 'perl hold.pl; exit $?'", want: "shell"},
	{command: "busybox sh -c 'perl hold.pl; exit $?'", want: "shell"},
	{command: "dash -c 'npm start'", want: "shell"},
	{command: `dash -c 'trap "" TERM; perl hold.pl; :'`, want: "shell", names: `ignores SIGTERM`},
	{command: `dash -c 'trap "exit 3" TERM; perl hold.pl; :'`, want: "trap"},
	{command: "dash -c 'exec perl hold.pl'"},
	{command: "dash -c 'cd sub; exec perl ../hold.pl'"},
	{command: "bash -c 'perl hold.pl'"},
	{command: "bash -c 'cd sub && perl ../hold.pl'"},
	{command: "busybox sh -c 'perl hold.pl'"},
	{command: `dash -c 'trap "kill \$c" TERM; perl hold.pl & c=$!; wait $c; wait $c'`},
	// Scripts.
	{command: "./start.sh", script: "#!/bin/dash\nperl hold.pl\n", want: "shell"},
	{command: "bash start.sh", script: "env -u A perl hold.pl\n:\n", want: "shell"},
	{command: "dash start.sh", script: "cd sub\nexec perl ../hold.pl\n"},
	{command: "bash start.sh", script: "exec setpriv --reuid=65534 --regid=65534 --clear-groups perl hold.pl\n"},
	// Launchers.
	{command: "npm start", want: "launcher", names: `\(npm\) may not forward signals: drainit sends the stop signal to perl\[\d+\] itself, if no other process has` + instead},
	{command: "npm run two", want: "launcher"},
	{command: "npm run execs", want: "launcher"},
	{command: "npx holds", want: "launcher"},
	{command: "yarn start", want: "launcher", names: `\(yarn\) may not forward signals`},
	{command: "pnpm start"}, // a program of its own
	{command: "go run main.go", want: "launcher", names: `\(go run\) may not forward signals`},
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
		names: `^perl\[\d+\] has no SIGTERM handler`}, // once of each program
	{command: "dash -c 'perl hold.pl & while :; do sleep 0.1; done'", want: "shell"},
	{command: "dash -c 'node bare.js; :'", want: "shell death"},
	{command: "npm run bare", want: "launcher handler"},
	{command: "dash -c 'PYTHONUNBUFFERED=1 /usr/bin/python3 start.sh; :'", want: "shell",
		script: "import os, signal, time\nsignal.pthread_sigmask(0, [15])\nprint('ready', os.getpid())\nsignal.sigwait([15])\n"},
	// PM2 has a limit of its own.
	{command: "pm2-runtime start hold.js", hint: `PM2 kills its processes 1\.6s after the stop signal, unless PM2_KILL_TIMEOUT`},
	{command: "dash -c 'pm2-runtime start hold.js; :'", want: "shell", hint: `PM2 kills its processes`},
}

func TestTableOfWarnings(t *testing.T) {
	t.Parallel()
	for _, w := range warnedTable {
		t.Run(strings.TrimSpace(w.flags+" "+w.command+" "+strings.ReplaceAll(w.script, "\n", "; ")), func(t *testing.T) {
			t.Parallel()
			needAll(t, splitAll(w.command+" "+w.script))
			if strings.Contains(w.command+w.script, "setpriv") {
				harness.NeedRoot(t)
			}
			dir, env := tableFolder(t)
			if w.script != "" {
				harness.WriteProgram(t, dir, "start.sh", 0o755, w.script)
			}
			env = append(env, "PM2_DISABLE_VERSION_CHECK=true", "PM2_HOME="+dir+"/.pm2")
			args := append(strings.Fields(w.flags), "--log-format=json", warnedGrace, "--")
			p := harness.Run(t, harness.Launch{Dir: dir, Env: env, Args: append(args, splitWords(w.command)...)})
			readyInside(p)
			warned{comm: harness.Comm(p.FirstChild())}.awaitReady(p)
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

// splitAll are the programs' names in a command line and a script.
func splitAll(text string) (words []string) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n'\";/!#", r) }) {
		words = append(words, filepath.Base(word))
	}
	return words
}
