package logging

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// secret stands among the arguments of many command lines here: no line of
// drainit's may show it.
const secret = "hunter2"

// warned is a command line and the warnings that it must give, in order; "" is
// none at all. Single quotes hold a word together, as in a shell. Where D stands in it,
// or in start.sh, it starts drainit; else drainit starts it.
type warned struct {
	command  string
	want     string
	says     string         // what one of the lines must say
	script   string         // start.sh
	flags    string         // drainit's
	stdin    string         // what a shell may read; it does not end
	comm     string         // the worker's when it is ready, if it can't say so
	release  syscall.Signal // ends the process that said it was ready, for drainit does not
	signal   syscall.Signal // what stops it; TERM if 0
	noPID1   bool           // of what starts drainit
	terminal bool           // on which Ctrl-C gets to drainit, whatever is above it
}

// What a line about a shell or a launcher says to write, where that loses nothing.
const (
	instead    = `\. Where the script ends with this command, start it with exec$`
	inItsPlace = `\. Where it runs this command alone, start that in its place$`
)

// warningKinds are the warnings about how a worker was started. Each names what
// to write instead: a trap that ends the shell and does not hand the signal on would leave the
// program in the background not signalled. The first pattern that matches a line tells what it is.
var warningKinds = []struct{ kind, pattern string }{
	{"parent", `parent \S+\[\d+\] is a shell.*Better: `},
	{"adopted", `^SIG(INT|QUIT) begins the stop, by SIGTERM: .*--stop-signal (INT|QUIT) --rewrite (INT|QUIT):TERM; if not: --rewrite (INT|QUIT):0$`},
	{"handler", `^\S+\[\d+\] has no SIG(TERM|INT|QUIT) handler: it died at once, .*--rewrite \w+:(SIG|TERM|QUIT)$`},
	{"death", `^\S+\[\d+\] died of SIG(TERM|INT|QUIT) at once: it may have no handler of its own, and then what it was doing is lost\. Add one, or .*: --rewrite \w+:(SIG|TERM|INT)$`},
	{"ignores", `^\S+\[\d+\] ignores SIGTERM and works on, SIGKILL in 16s$`},
	{"launcher", `\((npm|npx|yarn|pnpm|go run)\) may not forward signals: drainit sends the stop signal to .* itself, if no other process has(` + inItsPlace + `)?`},
	{"shell", ` does not forward signals.* drainit sends the stop signal to .* itself(` + instead + `|$)`},
}

// warnedWorkers go from what gives no warning to the shells, the launchers, those without a
// handler, the traps and PM2, and end with what starts drainit itself. Single commands in dash
// fork; in bash and busybox's ash they exec.
var warnedWorkers = []warned{
	{command: "app --token hunter2"},
	{command: "node app.js npm"},
	{command: "timeout 60 app hunter2"},
	{command: "app npm sh -c yarn"},
	{command: "./sh bin/app -fork"},
	{command: "ruby hold.rb"},
	{command: "java Hold.java"},
	{command: "worker listen -drain 10ms"},
	{command: "dash -c 'exec app hunter2'"},
	{command: "bash -c 'cd / && app'"},
	{command: "busybox sh -c 'app hunter2'"},
	{command: "./start.sh", script: "#!/bin/sh\ncd /\nexec app hunter2\n"},

	{command: "dash -c 'app hunter2'", want: "shell", says: `^dash\[\d+\] does not forward signals, so drainit sends the stop signal to app\[\d+\] itself` + instead},
	{command: "dash -c 'cd / && TOKEN=hunter2 app'", want: "shell"},
	{command: "dash -c 'app; exit $?'", want: "shell", signal: syscall.SIGINT, says: `itself` + instead},
	{command: "dash -c 'app; :'", flags: "--stop-signal QUIT", want: "shell"},
	{command: "bash -c 'app; exit $?' hunter2", want: "shell"},
	{command: "bash -c 'app | cat'", want: "shell", says: `to app\[\d+\] itself`},
	{command: "bash -c 'app & wait'", want: "shell"},
	{command: "dash -c 'app & app & wait'", want: "shell", says: `to app\[\d+\], app\[\d+\] itself$`},
	{command: "dash -c 'app & app & wait'", flags: "-g"},
	{command: "bash -c 'app; :'", flags: "-g"},
	{command: `bash -c 'trap "exit 3" TERM; app; :'`, flags: "-g"},
	{command: "bash -c 'while :; do app; done'", want: "shell"},
	{command: "dash -c 'app & while :; do sleep 0.1; done'", want: "shell"},
	{command: `bash -c 'dash -c "app; :"; :'`, want: "shell"},
	{command: `dash -c 'trap "exit 3" INT; app; :'`, want: "shell"},
	{command: `dash -c 'trap "" TERM; app; :'`, want: "shell"},
	{command: "dash -c 'timeout 60 app'", want: "shell", says: `to timeout\[\d+\] itself`},
	{command: "dash -c 'ruby hold.rb'", want: "shell"},
	{command: "dash -c 'java Hold.java'", want: "shell"},
	{command: "dash -c 'python3 waits.py; :'", want: "shell"},
	{command: "ash -c 'app hunter2; :'", want: "shell"},
	{command: "./start.sh hunter2", script: "#!/bin/bash\napp\n:\n", want: "shell"},
	{command: "./start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "busybox ash start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "bash -euo pipefail start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "bash -s hunter2", stdin: "app; exit\n", want: "shell"},

	{command: "npm start", want: "launcher", says: `\(npm\) may not .* to app\[\d+\] itself.*` + inItsPlace},
	{command: "npm run --silent worker", want: "launcher"},
	{command: "npm run two", want: "launcher"},
	{command: "npm run execs", want: "launcher"},
	{command: "npx tool", want: "launcher"},
	{command: "npm exec tool", want: "launcher"},
	{command: "yarn start", want: "launcher", says: `\(yarn\)`},
	{command: "pnpm start"}, // a program of its own
	{command: "dash -c 'npm start'", want: "shell"},
	{command: "bash start.sh", script: "npx tool hunter2\n:\n", want: "shell"},
	{command: "./start.sh", script: "#!/bin/sh\nexec yarn start\n", want: "launcher"},
	{command: "go run main.go", want: "launcher", says: `\(go run\)`}, // its binary is gone at the end

	{command: "app -default hunter2", want: "handler"},
	{command: "sleep 1000", comm: "sleep", want: "handler"},
	{command: "dash -c 'app & exec tail -f /dev/null'"}, // which keeps the container open
	{command: "tail -f /dev/null", comm: "tail", want: "handler"},
	{command: "dash -c 'exec sleep 1000'", comm: "sleep", want: "handler"},
	{command: "bash -c 'read line'", comm: "bash"}, // a shell does no work
	{command: "app", signal: syscall.SIGINT, want: "adopted", says: `--rewrite INT:TERM`},
	{command: "app", flags: "--rewrite TERM:QUIT", want: "handler", says: "SIGQUIT"},
	{command: "/usr/bin/python3 bare.py", want: "handler", says: `TERM:SIG$`}, // it has a handler for INT, Python's own
	{command: "/usr/bin/python3 bare.py", flags: "--stop-signal QUIT", signal: syscall.SIGQUIT, want: "handler", says: `QUIT:SIG$`},
	{command: "app", flags: "--stop-signal QUIT", signal: syscall.SIGQUIT, want: "adopted", says: `QUIT:TERM;`},
	{command: "/usr/bin/python3 bare.py", flags: "--rewrite TERM:INT", want: "death"},
	{command: "npm run bare", want: "launcher handler"},
	{command: "dash -c 'app & app -default & wait'", want: "shell handler"},
	{command: "dash -c 'app -default & app -default & app -default; :'", want: "shell handler"}, // once of each program
	{command: "app -default -fork"},
	{command: "app -ignore", release: unix.SIGUSR1, want: "ignores"},
	{command: "timeout 60 dash -c 'app; :'"},
	{command: "python3 waits.py"},
	{command: "node bare.js", want: "death"},
	{command: "worker listen -catch QUIT", want: "death"},
	{command: "app -default", flags: "--forward worker", want: "death"},
	{command: "app", flags: "--forward worker"},
	{command: "dash -c 'node bare.js; :'", want: "shell death"},
	{command: "tsx bare.js"}, // whose status is tsx's own

	{command: `dash -c 'trap "exit 3" TERM; app; :'`},
	{command: `dash -c 'trap "exit 3" TERM; app -drain 3 | cat; :'`}, // $! would be cat
	{command: `dash -c 'trap "exit 3" TERM; echo ready $$; sleep 3; :'`},
	{command: `bash -c 'trap "exit 3" TERM; app hunter2; :'`},
	{command: `ash -c 'trap "exit 3" TERM; app; :'`},
	{command: "./start.sh", script: "#!/bin/bash\ntrap 'exit 3' TERM\nwhile :; do app hunter2; done\n"},
	// These wait where a trap runs at once: for a child in the background, which may have taken INT
	// and QUIT, which the shell had it ignore.
	{command: `dash -c 'trap "kill \$c" TERM; app & c=$!; wait $c; wait $c'`},
	{command: `dash -c 'trap "kill \$c" TERM; app -drain 3 & c=$!; wait $c; wait $c'`},
	{command: `bash -c 'trap "kill \$c" TERM; node app.js -drain & c=$!; wait $c; wait $c'`},
	{command: `ash -c 'trap "kill \$c" TERM; worker listen -catch TERM,INT -drain 3s & c=$!; wait $c; wait $c'`},
	// And this child is the trap's own.
	{command: `bash -c 'trap "sleep 3; exit 0" TERM; echo ready $$; while :; do sleep 0.1; done'`},

	{command: "pm2-runtime start app.js"},
	{command: "dash -c 'pm2-runtime start app.js; :'", want: "shell"},

	// A stop signal that the platform sends to a shell as PID 1 does not get to drainit.
	{command: "dash -c 'D -v -- app hunter2'", want: "parent"},
	{command: "bash -c 'D -v -- app hunter2; exit $?'", want: "parent"},
	{command: "ash -c 'D -v -- app; exit $?'", want: "parent"},
	{command: "./start.sh hunter2", script: "#!/bin/sh\nD -v -- app\n:\n", want: "parent"},
	{command: "dash -c 'D -v -- dash -c \"app; :\"'", want: "parent shell"},
	{command: "bash -c 'busybox sh -c \"bash start.sh; :\"; :'", script: "D -v -- app\n:\n", want: "parent"}, // a chain up to PID 1
	{command: "npm run drainit", script: "D -v -- app\n:\n", want: "parent"},
	{command: "dash -c 'timeout 60 dash start.sh; :'", script: "D -v -- app\n:\n"}, // which forwards it
	{command: `dash -c 'trap "kill \$c" TERM; dash start.sh & c=$!; wait $c'`, script: "D -v -- app\n:\n"},
	{command: "bash -c 'D -v -- app'"}, // it execs
	{command: "./start.sh", script: "#!/bin/sh\nexec D -v -- app\n"},
	{command: "tini -- D -v -- app"},
	{command: `bash -c 'trap "kill \$c" TERM; D -v -- app & c=$!; wait $c; wait $c'`},
	{command: "dash -c 'D -v -- app; :'", noPID1: true},
	{command: "dash -c 'D -v -- app; :'", terminal: true},
}

// lasts is in those that work on for longer than a trap that runs at once may take.
var lasts = regexp.MustCompile(`-drain|sleep 3`)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, w := range warnedWorkers {
		name := strings.Join(strings.Fields(strings.Join([]string{w.flags, w.command, w.script}, " ")), " ")
		t.Run(name+map[bool]string{true: " on a terminal"}[w.terminal], func(t *testing.T) {
			t.Parallel()
			if lasts.MatchString(w.command) && !strings.Contains(w.command, "10ms") {
				harness.Full(t)
			}
			p := w.launch(t)
			w.awaitReady(p)
			w.stop(p)
			if strings.Contains(w.want, "death") && !diedAtOnce(t, p) {
				t.Log("on a busy machine it took longer to die, and that tells of nothing")
				return
			}
			w.check(t, p)
			p.WantNothingLeft()
		})
	}
}

// diedAtOnce reports whether the stop took less than the 0.1 s within which a death tells
// that there was no handler.
func diedAtOnce(t *testing.T, p *harness.Init) bool {
	t.Helper()
	took, err := strconv.ParseFloat(p.WaitErr(`"msg":"stopped after .*"duration_s":([\d.]+)`)[1], 64)
	harness.Must(t, err)
	return took < 0.1
}

// startsDrainit reports whether the command line starts drainit, and is not started by it.
func (w warned) startsDrainit() bool { return strings.Contains(w.command+w.script, "D -v ") }

// launch starts the command line in a folder that has all that it names.
func (w warned) launch(t *testing.T) *harness.Init {
	t.Helper()
	w.need(t)
	dir, env := warnedFolder(t)
	if w.script != "" {
		harness.WriteProgram(t, dir, "start.sh", 0o755, strings.ReplaceAll(w.script, "D -v", harness.DrainitBin+" -v"))
	}
	words := splitWords(strings.ReplaceAll(w.command, "D -v", harness.DrainitBin+" -v"))
	if !w.startsDrainit() {
		stdin, typed := harness.Pipe(t)
		if _, err := typed.WriteString(w.stdin); err != nil {
			t.Fatal(err)
		}
		// The last call is after 12 s: what can't be proven untouched, as on a busy machine, ends then.
		flags := append([]string{"-v", "--grace=16s"}, strings.Fields(w.flags)...)
		return harness.Run(t, harness.Launch{Dir: dir, Stdin: stdin, Env: env, Args: harness.Line(flags, words...)})
	}
	l := harness.Launch{Bin: filepath.Join(dir, words[0]), Args: words[1:], Dir: dir, Env: append(env, "DRAINIT_LOG_FORMAT=json"), NoPID1: w.noPID1}
	if _, err := os.Stat(l.Bin); err != nil {
		l.Bin = filepath.Join(dir, "bin", words[0])
	}
	if path, err := exec.LookPath(words[0]); err == nil {
		l.Bin = path
	}
	if w.terminal {
		l = harness.OnTerminal(t, l)
	}
	return harness.Run(t, l)
}

var (
	apps      = regexp.MustCompile(`(^|[ "'/\n])app\b`)
	needed    = regexp.MustCompile(`\b(dash|bash|busybox|timeout|tini|node|npm|npx|python3|go|ruby|java)\b`)
	nodeNames = regexp.MustCompile(`\b(yarn|pnpm|pm2|pm2-runtime|tsx)\b`)
)

// need skips a test whose command line has a program that is not there.
func (w warned) need(t *testing.T) {
	t.Helper()
	text := regexp.MustCompile(`\bash\b`).ReplaceAllString(w.command+"\n"+w.script, "busybox")
	harness.Need(t, append(needed.FindAllString(text, -1), "perl")...)
	if nodeNames.MatchString(text) {
		harness.NeedNodePackages(t)
	}
}

// awaitReady waits until all processes are there, and the worker waits for
// something: where that is a shell, it has set its trap.
func (w warned) awaitReady(p *harness.Init) {
	p.T.Helper()
	if w.startsDrainit() {
		p.WaitOut(`^ready`)
		if w.want != "" {
			p.WaitErr(`parent \S+\[\d+\] is a shell`)
		}
		return
	}
	programs := max(1, len(apps.FindAllString(w.command, -1)))
	if w.comm == "" {
		harness.WaitUntil(p.T, "all are there", func() bool { return strings.Count(p.Stdout.Text(), "ready ") >= programs })
	}
	harness.WaitUntil(p.T, "the worker has started", func() bool { return p.FirstChild() != 0 })
	harness.WaitUntil(p.T, "the worker waits", func() bool {
		worker := p.FirstChild()
		return harness.StateOf(worker) == 'S' && (w.comm == "" || harness.Comm(worker) == w.comm)
	})
	if strings.HasPrefix(w.command, "pnpm") { // whose handler may come after what it starts
		harness.WaitUntil(p.T, "pnpm handles TERM", func() bool { return harness.SignalMask(p.T, p.FirstChild(), "SigCgt")&(1<<(unix.SIGTERM-1)) != 0 })
	}
	if w.want == "trap" { // of what waits for it, bash shows it only while that sleeps
		p.WaitAtRest(harness.Patience)
	} else { // what runs can't be proven untouched, and some never rest
		p.WaitAtRest(500 * time.Millisecond)
	}
}

// stop stops the worker and waits for the end. Who would not hear of it is
// released once it could.
func (w warned) stop(p *harness.Init) {
	p.T.Helper()
	sig := cmp.Or(w.signal, syscall.SIGTERM)
	if w.startsDrainit() {
		inside, err := strconv.Atoi(p.WaitErr(`"settings: .* pid (\d+)"`)[1])
		harness.Must(p.T, err)
		harness.Kill(p.T, p.HostPid(inside), sig)
	} else {
		p.Signal(sig)
	}
	if w.release != 0 {
		p.WaitErr(`"msg":"sent SIG`)
		harness.Kill(p.T, p.ReadyPid(`^ready`), w.release)
	}
	p.Wait()
}

// check checks that these warnings and no others are in the log, what a line says, and that
// no line shows an argument.
func (w warned) check(t *testing.T, p *harness.Init) {
	t.Helper()
	var kinds []string
	said := w.says == ""
	for _, l := range drainitsLines(p.Err()) {
		msg := l["msg"].(string)
		if l["level"] == "warn" {
			kinds = append(kinds, warningKind(msg))
			t.Logf("%s\n\t%s", w.command, msg)
			said = said || regexp.MustCompile(w.says).MatchString(msg)
		}
		if strings.Contains(fmt.Sprint(l), secret) {
			t.Errorf("a line shows an argument, which may be a secret: %v", l)
		}
	}
	if got := strings.Join(kinds, " "); got != w.want || !said {
		t.Errorf("the warnings are %q, want %q, and a line %q\nstderr:\n%s", got, w.want, w.says, p.Err())
	}
}

// drainitsLines are the lines of the log: what else came on standard error is the worker's.
func drainitsLines(log string) (lines []harness.JsonLine) {
	for _, text := range harness.LinesOf(log) {
		var l harness.JsonLine
		if json.Unmarshal([]byte(text), &l) == nil && l["logger"] == "drainit" {
			lines = append(lines, l)
		}
	}
	return lines
}

func warningKind(msg string) string {
	for _, k := range warningKinds {
		if regexp.MustCompile(k.pattern).MatchString(msg) {
			return k.kind
		}
	}
	return "another: " + msg
}

// warnedFolder makes a folder in which the command lines find what they name, and the
// environment that goes with it. In it a shell has a name of its own, and another program
// that of a shell.
func warnedFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-warned-") // t.TempDir's name has the test's in it
	harness.Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	here := harness.Repo("test/logging/testdata/warned")
	links := map[string]string{"bin/app": here + "/app", "node_modules/.bin/tool": here + "/app", "bin/worker": harness.WorkerBin, "node_modules/.bin/worker": harness.WorkerBin}
	for _, file := range []string{"app.js", "bare.js", "bare.py", "waits.py", "hold.rb", "Hold.java", "main.go", "package.json"} {
		links[file] = filepath.Join(here, file)
	}
	for link, program := range map[string]string{"bin/ash": "busybox", "sh": "perl"} {
		if path, missing := exec.LookPath(program); missing == nil {
			links[link] = path
		}
	}
	for link, file := range links {
		link = filepath.Join(dir, link)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(file, link))
	}
	harness.Must(t, err)
	cache, _ := os.UserCacheDir() // fails without HOME, where go has needed GOCACHE
	return dir, []string{"HOME=" + dir, "npm_config_update_notifier=false", "PM2_DISABLE_VERSION_CHECK=true",
		"GOCACHE=" + cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")), // go run in another home finds what has been built
		"PATH=" + strings.Join([]string{filepath.Join(dir, "bin"), harness.Repo("test/node/node_modules/.bin"), os.Getenv("PATH")}, ":")}
}

// splitWords splits a command line as a shell does that knows single quotes only.
func splitWords(command string) (words []string) {
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
