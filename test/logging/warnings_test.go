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
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// secret stands among the arguments of many command lines here: no line of
// drainit's may show it.
const secret = "hunter2"

// warned is a row of warned.tsv: the command line by the empty key, and what is not as usual.
type warned map[string]string

// warnedWorkers go from what gives no warning to what starts drainit itself.
func warnedWorkers(t *testing.T) (all []warned) {
	t.Helper()
	for _, row := range rows.Read(t, "testdata/warned.tsv", 5) {
		w := warned{"": row[0]}
		for _, column := range row[1:] {
			key, value, _ := strings.Cut(column, "=")
			w[key] = cmp.Or(w[key], strings.ReplaceAll(value, `\n`, "\n"))
		}
		all = append(all, w)
	}
	return all
}

// lasts is in those that work on for longer than a trap that runs at once may take.
var lasts = regexp.MustCompile(`-drain|sleep 3`)

func TestWarnings(t *testing.T) {
	t.Parallel()
	for _, w := range warnedWorkers(t) {
		name := strings.Join(strings.Fields(strings.Join([]string{w["flags"], w[""], w["script"]}, " ")), " ")
		if !harness.Row(name) {
			continue
		}
		t.Run(strings.TrimSpace(name+" "+w["drainit"]), func(t *testing.T) {
			t.Parallel()
			if lasts.MatchString(w[""]) && !strings.Contains(w[""], "10ms") {
				harness.Full(t)
			}
			p := w.launch(t)
			w.awaitReady(p)
			w.stop(p)
			if strings.Contains(w["want"], "death") && !tookLess(p, 0.1) {
				t.Log("on a busy machine it took longer to die, and that tells of nothing")
				return
			}
			w.check(t, p)
			p.WantNothingLeft()
		})
	}
}

// tookLess reports whether the stop took less than these seconds, such as the 0.1 within which a death tells
// that there was no handler.
func tookLess(p *harness.Init, seconds float64) bool {
	p.T.Helper()
	took, err := strconv.ParseFloat(p.WaitErr(`"msg":"stopped after .*"duration_s":([\d.]+)`)[1], 64)
	harness.Must(p.T, err)
	return took < seconds
}

// startsDrainit reports whether the command line starts drainit, and is not started by it.
func (w warned) startsDrainit() bool { return strings.Contains(w[""]+w["script"], "D -v ") }

// launch starts the command line in a folder that has all that it names.
func (w warned) launch(t *testing.T) *harness.Init {
	t.Helper()
	w.need(t)
	dir, env := warnedFolder(t)
	if w["script"] != "" {
		harness.WriteProgram(t, dir, "start.sh", 0o755,
			strings.ReplaceAll(w["script"], "D -v", harness.DrainitBin+" -v"))
	}
	words := harness.Words(strings.ReplaceAll(w[""], "D -v", harness.DrainitBin+" -v"))
	if !w.startsDrainit() {
		stdin, typed := harness.Pipe(t)
		if _, err := typed.WriteString(w["stdin"]); err != nil {
			t.Fatal(err)
		}
		// The last call is after 12 s: what can't be proven untouched, as on a busy machine, ends then.
		flags := append([]string{"-v", "--grace=16s"}, strings.Fields(w["flags"])...)
		return harness.Run(t, harness.Launch{Dir: dir, Stdin: stdin, Env: env,
			Args: harness.Line(flags, words...)})
	}
	l := harness.Launch{Bin: filepath.Join(dir, words[0]), Args: words[1:], Dir: dir,
		Env: append(env, "DRAINIT_LOG_FORMAT=json"), NoPID1: w["drainit"] == "not below PID 1"}
	if _, err := os.Stat(l.Bin); err != nil {
		l.Bin = filepath.Join(dir, "bin", words[0])
	}
	if path, err := exec.LookPath(words[0]); err == nil {
		l.Bin = path
	}
	if w["drainit"] == "on a terminal" {
		l = harness.OnTerminal(t, l)
	}
	return harness.Run(t, l)
}

var (
	apps   = regexp.MustCompile(`(^|[ "'/\n])app\b`)
	needed = regexp.MustCompile(`\b(dash|bash|busybox|timeout|tini|node|np[mx]|` +
		`python3|ruby|php|go|java)\b`)
	nodeNames = regexp.MustCompile(`\b(yarn|pnpm|pm2|pm2-runtime|tsx)\b`)
)

// need skips a test whose command line has a program that is not there.
func (w warned) need(t *testing.T) {
	t.Helper()
	text := regexp.MustCompile(`\bash\b`).ReplaceAllString(w[""]+"\n"+w["script"], "busybox")
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
		if w["want"] != "" {
			p.WaitErr(`parent \S+\[\d+\] is a shell`)
		}
		return
	}
	programs := max(1, len(apps.FindAllString(w[""], -1)))
	if w["comm"] == "" {
		harness.WaitUntil(p.T, "all are there",
			func() bool { return strings.Count(p.Stdout.Text(), "ready ") >= programs })
	}
	harness.WaitUntil(p.T, "the worker has started", func() bool { return p.FirstChild() != 0 })
	harness.WaitUntil(p.T, "the worker waits", func() bool {
		worker := p.FirstChild()
		return harness.StateOf(worker) == 'S' && (w["comm"] == "" || harness.Comm(worker) == w["comm"])
	})
	if strings.HasPrefix(w[""], "pnpm") { // whose handler may come after what it starts
		harness.WaitUntil(p.T, "pnpm handles TERM",
			func() bool {
				return harness.SignalMask(p.T, p.FirstChild(),
					"SigCgt")&(1<<(unix.SIGTERM-1)) != 0
			})
	}
	p.WaitAtRest(500 * time.Millisecond) // what runs can't be proven untouched, and some never rest
}

// stop stops the worker and waits for the end. Who would not hear of it is
// released once it could.
func (w warned) stop(p *harness.Init) {
	p.T.Helper()
	sig := unix.SignalNum("SIG" + cmp.Or(w["signal"], "TERM"))
	if w.startsDrainit() {
		inside := harness.Number(p.T, p.WaitErr(`"settings: .* pid (\d+)"`)[1])
		harness.Kill(p.T, p.HostPid(inside), sig)
	} else {
		p.Signal(sig)
	}
	if w["release"] != "" {
		p.WaitErr(`"msg":"sent SIG`)
		harness.Kill(p.T, p.ReadyPid(`^ready`), unix.SignalNum("SIG"+w["release"]))
	}
	p.Wait()
}

// check checks that these warnings and no others are in the log, what a line says, and that
// no line shows an argument.
func (w warned) check(t *testing.T, p *harness.Init) {
	t.Helper()
	var kinds []string
	said := w["says"] == ""
	for _, l := range drainitsLines(p.Err()) {
		msg := l["msg"].(string)
		if l["level"] == "warn" {
			kinds = append(kinds, warningKind(t, msg))
			t.Logf("%s\n\t%s", w[""], msg)
			said = said || regexp.MustCompile(w["says"]).MatchString(msg)
		}
		if strings.Contains(fmt.Sprint(l), secret) {
			t.Errorf("a line shows an argument, which may be a secret: %v", l)
		}
	}
	if got := strings.Join(kinds, " "); got != w["want"] || !said {
		t.Errorf("the warnings are %q, want %q, and a line %q\nstderr:\n%s", got, w["want"],
			w["says"], p.Err())
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

func warningKind(t *testing.T, msg string) string {
	t.Helper()
	for _, row := range rows.Read(t, "testdata/kinds.tsv", 2) {
		if regexp.MustCompile(row[1]).MatchString(msg) {
			return row[0]
		}
	}
	return "another: " + msg
}

// warnedFolder makes a folder in which the command lines find what they name, and the
// environment that goes with it. In it a shell has a name of its own, and another program
// that of a shell.
func warnedFolder(t *testing.T) (dir string, env []string) {
	t.Helper()
	dir = harness.ShortDir(t) // t.TempDir's name has the test's in it
	here := harness.Repo("test/logging/testdata/warned")
	links := map[string]string{"bin/app": here + "/app", "node_modules/.bin/tool": here + "/app",
		"bin/worker": harness.WorkerBin, "node_modules/.bin/worker": harness.WorkerBin}
	for _, file := range harness.Words("app.js bare.js bare.py waits.py hold.rb Hold.java main.go " +
		"package.json") {
		links[file] = filepath.Join(here, file)
	}
	for link, program := range map[string]string{"bin/ash": "busybox", "sh": "perl"} {
		if path, missing := exec.LookPath(program); missing == nil {
			links[link] = path
		}
	}
	var err error
	for link, file := range links {
		link = filepath.Join(dir, link)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(file, link))
	}
	harness.Must(t, err)
	cache, _ := os.UserCacheDir() // fails without HOME, where go has needed GOCACHE
	return dir, []string{"HOME=" + dir, "npm_config_update_notifier=false", "PM2_DISABLE_VERSION_CHECK=true",
		// go run in another home finds what has been built
		"GOCACHE=" + cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")),
		"PATH=" + strings.Join([]string{filepath.Join(dir, "bin"),
			harness.Repo("test/node/node_modules/.bin"), os.Getenv("PATH")}, ":")}
}
