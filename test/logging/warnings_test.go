package logging

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// secret stands among the arguments of most command lines here: no line of
// drainit's may show it.
const secret = "hunter2"

// warnedGrace has its last call after 12 s: what can't be proven untouched, as on a busy
// machine, ends then.
const warnedGrace = "--grace=16s"

// warningKinds are the warnings about how a worker was started. Each names what
// to write instead. The first pattern that matches a line tells what it is.
var warningKinds = []struct{ kind, pattern string }{
	{"parent", `parent \S+\[\d+\] is a shell.*Better: `},
	{"trap", `can't run its trap until.*Better, .*wait `},
	{"handler", `no SIG(TERM|INT|QUIT) handler: it died at once.*--rewrite`},
	{"death", `died of SIG(TERM|INT|QUIT) at once`},
	{"launcher", `\((npm|npx|yarn|pnpm|go run)\) may not forward signals` + `.*` + instead},
	{"shell", ` (does not forward signals|ignores SIGTERM)` + `.*` + instead},
}

// warned is a command line and the warnings that it must give, in order; "" is
// none at all. Single quotes hold a word together, as in a shell.
type warned struct {
	command string
	want    string
	script  string         // start.sh, if the command line runs one
	flags   string         // drainit's
	fix     string         // what the warning must name, where another thing than most
	stdin   string         // what a shell may read; it does not end
	comm    string         // the worker's when it is ready, if it can't say so
	release syscall.Signal // ends the process that said it was ready, for drainit does not
	signal  syscall.Signal // what stops it; TERM if 0
}

// Single commands in dash fork; in bash and busybox's ash they exec.
var warnedWorkers = []warned{
	{command: "app --token " + secret},
	{command: "node app.js " + secret},
	{command: "env TOKEN=" + secret + " app"},
	{command: "timeout 60 app " + secret},
	{command: "app npm sh -c yarn"},
	{command: "node app.js npm"},
	{command: "./sh bin/app -fork"},
	{command: "dash -c 'exec app hunter2'"},
	{command: "bash -c 'app hunter2'"},
	{command: "bash -c 'cd / && app'"},
	{command: "ash -c 'app hunter2'"},
	{command: "busybox sh -c 'exec app'"},
	{command: "./start.sh", script: "#!/bin/sh\ncd /\nexec app hunter2\n"},

	{command: "dash -c 'app hunter2'", want: "shell"},
	{command: "dash -c 'cd / && TOKEN=hunter2 app'", want: "shell"},
	{command: "dash -c 'app; exit $?'", want: "shell", signal: syscall.SIGINT},
	{command: "bash -c 'app; exit $?'", want: "shell"},
	{command: "bash -c 'app; exit $?' hunter2", want: "shell", signal: syscall.SIGINT},
	{command: "bash -c 'app 2>/dev/null'", want: "shell"},
	{command: "bash -c 'app | cat'", want: "shell"},
	{command: "bash -c 'app & wait'", want: "shell"},
	{command: "bash -c 'while :; do app; done'", want: "shell"},
	{command: `bash -c 'dash -c "app; :"; :'`, want: "shell"},
	{command: `dash -c 'trap "exit 3" INT; app; :'`, want: "shell"},
	{command: `dash -c 'trap "" TERM; app; :'`, want: "shell"},
	{command: "ash -c 'app hunter2; :'", want: "shell"},
	{command: "busybox ash -c 'app; :'", want: "shell"},
	{command: "./start.sh hunter2", script: "#!/bin/bash\napp\n:\n", want: "shell"},
	{command: "./start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "bash start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "busybox ash start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "bash -euo pipefail start.sh", script: "app hunter2\n:\n", want: "shell"},
	{command: "bash -s hunter2", stdin: "app; exit\n", want: "shell"},

	{command: "npm start", want: "launcher"},
	{command: "npm run --silent worker", want: "launcher"},
	{command: "npm run execs", want: "launcher"},
	{command: "npx tool", want: "launcher"},
	{command: "npm exec tool", want: "launcher"},
	{command: "yarn start", want: "launcher"},
	{command: "yarn run worker", want: "launcher"},
	{command: "bash -c 'npm start'", want: "launcher"},
	{command: "dash -c 'npm start'", want: "shell"},
	{command: "bash start.sh", script: "npx tool hunter2\n:\n", want: "shell"},
	{command: "./start.sh", script: "#!/bin/sh\nexec yarn start\n", want: "launcher"},
	{command: "go run main.go", want: "launcher"}, // its binary is gone at the end

	{command: "app -default hunter2", want: "handler"},
	{command: "sleep 1000", comm: "sleep", want: "handler"},
	{command: "busybox sleep 1000", comm: "busybox", want: "handler"},
	{command: "dash -c 'exec sleep 1000'", comm: "sleep", want: "handler"},
	{command: "bash -c 'read line'", comm: "bash"}, // a shell does no work
	{command: "app", signal: syscall.SIGINT, want: "handler", fix: `--rewrite INT:TERM`},
	{command: "app", flags: "--rewrite TERM:QUIT", want: "handler", fix: "SIGQUIT"},
	{command: "app -default -fork"},
	{command: "node app.js", flags: "--rewrite TERM:INT"},
	{command: "app -ignore", release: unix.SIGUSR1},
	{command: `python3 -c 'import signal; signal.pthread_sigmask(0, [15]); print("ready", flush=True); signal.sigwait([15])'`},

	{command: `dash -c 'trap "exit 3" TERM; app; :'`, want: "trap"},
	{command: `bash -c 'trap "exit 3" TERM; app hunter2; :'`, want: "trap"},
	{command: `ash -c 'trap "exit 3" TERM; app; :'`, want: "trap"},
	{command: "./start.sh", script: "#!/bin/bash\ntrap 'exit 3' TERM\nwhile :; do app hunter2; done\n", want: "trap"},
	// These wait where a trap runs at once: for a child in the background.
	{command: `dash -c 'trap "kill \$c" TERM; app & c=$!; wait $c; wait $c'`},
	{command: `dash -c 'trap "kill \$c" TERM; app -drain 3 & c=$!; wait $c; wait $c'`},
	{command: `bash -c 'trap "kill \$c" TERM; app -drain 3 & c=$!; wait $c; wait $c'`},
	// These do so too, and have taken INT and QUIT, which the shell had them ignore.
	{command: `dash -c 'trap "kill \$c" TERM; node app.js -drain & c=$!; wait $c; wait $c'`},
	{command: `bash -c 'trap "kill \$c" TERM; node app.js -drain & c=$!; wait $c; wait $c'`},
	{command: `ash -c 'trap "kill \$c" TERM; worker listen -catch TERM,INT -drain 3s & c=$!; wait $c; wait $c'`},
	{command: `bash -c 'trap "kill \$c" TERM; worker listen -catch TERM,INT -drain 3s & c=$!; wait $c; wait $c'`},
	// And this child is the trap's own.
	{command: `bash -c 'trap "sleep 3; exit 0" TERM; echo ready $$; while :; do sleep 0.1; done'`},
}

// lasts is in those that work on for longer than a trap that runs at once may take.
var lasts = regexp.MustCompile(`-drain|sleep 3`)

func TestWarningsWhenTheStopBegins(t *testing.T) {
	t.Parallel()
	for _, w := range warnedWorkers {
		t.Run(w.name(), func(t *testing.T) {
			t.Parallel()
			if lasts.MatchString(w.command) {
				harness.Full(t)
			}
			p := w.launch(t)
			w.awaitReady(p)
			w.stop(p)
			wantWarnings(t, p, w.want)
			w.wantFix(p)
			w.show(t, p)
		})
	}
}

// show logs the command line and its warnings, for the reader of -v.
func (w warned) show(t *testing.T, p *harness.Init) {
	_, lines := warningsIn(p.Err())
	lines = slices.DeleteFunc(lines, func(l harness.JsonLine) bool { return l["level"] != "warn" })
	if len(lines) == 0 {
		t.Logf("%s\n\tno warning", w.name())
	}
	for _, l := range lines {
		t.Logf("%s\n\t%s", w.name(), l["msg"])
	}
}

func (w warned) name() string {
	return strings.TrimSpace(strings.ReplaceAll(strings.Join([]string{w.flags, w.command, w.script}, " "), "\n", "; "))
}

// launch starts the worker in a folder that has all that the command lines name.
func (w warned) launch(t *testing.T) *harness.Init {
	t.Helper()
	needFor(t, w.command+" "+w.script)
	dir, env := warnedFolder(t)
	if w.script != "" {
		harness.WriteProgram(t, dir, "start.sh", 0o755, w.script)
	}
	stdin, typed := harness.Pipe(t)
	if _, err := typed.WriteString(w.stdin); err != nil {
		t.Fatal(err)
	}
	return harness.Run(t, harness.Launch{Dir: dir, Stdin: stdin, Env: env, Args: harness.Line(append(strings.Fields(w.flags), "-v", warnedGrace), splitWords(w.command)...)})
}

// awaitReady waits until all processes are there, and the worker waits for
// something: where that is a shell, it has set its trap.
func (w warned) awaitReady(p *harness.Init) {
	p.T.Helper()
	if w.comm == "" {
		p.WaitOut(`^ready`)
	}
	p.WaitUntilStarted()
	harness.WaitUntil(p.T, "the worker waits", func() bool {
		worker := p.FirstChild()
		return harness.StateOf(worker) == 'S' && (w.comm == "" || harness.Comm(worker) == w.comm)
	})
	if w.want == "trap" { // of what waits for it, bash shows it only while that sleeps
		p.WaitAtRest(harness.Patience)
	} else { // what runs can't be proven untouched, and some never rest
		p.WaitAtRest(500 * time.Millisecond)
	}
}

// stop stops the worker and waits for the end. Who would not hear of it is
// released once the warning is there.
func (w warned) stop(p *harness.Init) {
	p.T.Helper()
	sig := w.signal
	if sig == 0 {
		sig = syscall.SIGTERM
	}
	p.Signal(sig)
	if w.release != 0 {
		p.WaitErr(`"msg":"sent SIG`)
		if w.want != "" {
			p.WaitErr(`"level":"warn"`)
		}
		harness.Kill(p.T, p.ReadyPid(`^ready`), w.release)
	}
	p.Wait()
	p.WantNothingLeft()
}

// warnedLater are looked at 10 s after the start: until then an entrypoint may do
// what it likes before it execs. Those that are warned of then are not again when
// the stop begins; the others may be.
var warnedLater = []struct {
	warned
	early string // what must be there before the stop
}{
	{warned{command: "dash -c 'app hunter2; :'", want: "shell"}, "shell"},
	{warned{command: "bash start.sh", script: "app hunter2\n:\n", want: "shell"}, "shell"},
	{warned{command: "npm start", want: "launcher"}, "launcher"},
	{warned{command: "yarn start", want: "launcher"}, "launcher"},
	{warned{command: "app hunter2"}, ""},
	{warned{command: "./start.sh", script: "#!/bin/sh\nsleep 1\nexec app hunter2\n"}, ""},
	{warned{command: "./start.sh hunter2", script: "#!/bin/bash\n/bin/sleep 1\nexec app\n"}, ""},
	{warned{command: `bash -c 'trap "kill \$c" TERM; app & c=$!; wait $c; wait $c'`}, ""},
	{warned{command: `dash -c 'trap "exit 3" TERM; app; :'`, want: "trap"}, ""},
	{warned{command: "app -default", want: "handler"}, ""},
	// The last to start: when it has been looked at, all have.
	{warned{command: "ash -c 'app; :'", want: "shell"}, "shell"},
}

func TestWarningsTenSecondsAfterTheStart(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	var last *harness.Init
	all := make([]*harness.Init, len(warnedLater))
	began := time.Now()
	for i, w := range warnedLater {
		last = w.launch(t)
		all[i] = last
		last.WaitErr(`"msg":"started `)
	}
	last.WaitErr(` does not forward signals`)
	if took := time.Since(began); took < 10*time.Second {
		t.Errorf("the last was looked at %v after the start, want 10s", took)
	}
	for i, w := range warnedLater {
		t.Log(w.name())
		wantWarnings(t, all[i], w.early)
		w.awaitReady(all[i])
		w.stop(all[i])
		wantWarnings(t, all[i], w.want)
	}
}

// wantFix checks that a warning names what to write, where that is not the same of all.
func (w warned) wantFix(p *harness.Init) {
	p.T.Helper()
	_, lines := warningsIn(p.Err())
	for _, l := range lines {
		if l["level"] == "warn" && !regexp.MustCompile(w.fix).MatchString(l["msg"].(string)) {
			p.T.Errorf("no %q in %s", w.fix, l["msg"])
		}
	}
}

// wantWarnings checks that these warnings and no others are in the log, and that
// no line shows an argument.
func wantWarnings(t *testing.T, p *harness.Init, want string) {
	t.Helper()
	kinds, lines := warningsIn(p.Err())
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("the warnings are %q, want %q\nstderr:\n%s", got, want, p.Err())
	}
	for _, l := range lines {
		if strings.Contains(fmt.Sprint(l), secret) {
			t.Errorf("a line shows an argument, which may be a secret: %v", l)
		}
	}
}

// warningsIn returns the kinds of the warnings in a log, and all lines of the
// log: what else came on standard error is the worker's.
func warningsIn(log string) (kinds []string, lines []harness.JsonLine) {
	for _, text := range harness.LinesOf(log) {
		var l harness.JsonLine
		if json.Unmarshal([]byte(text), &l) != nil || l["logger"] != "drainit" {
			continue
		}
		lines = append(lines, l)
		if l["level"] == "warn" {
			kinds = append(kinds, warningKind(l["msg"].(string)))
		}
	}
	return kinds, lines
}

func warningKind(msg string) string {
	for _, k := range warningKinds {
		if regexp.MustCompile(k.pattern).MatchString(msg) {
			return k.kind
		}
	}
	return "another: " + msg
}
