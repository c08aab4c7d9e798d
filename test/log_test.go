package test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// wholeLife runs a worker through quiet, running again, draining and the kill
// at the end of the grace, and returns all that was printed. It waits for what
// the worker says only, so that it goes with every log level.
func wholeLife(t *testing.T, noPID1 bool, flags ...string) ran {
	t.Helper()
	flags = append([]string{"--grace=300ms"}, flags...)
	p := launch(t, Launch{NoPID1: noPID1, Args: append(flags, "--", workerBin, "listen", "-catch", "TSTP,CONT,TERM", "-end", "")})
	p.waitOut(`^ready`)
	p.signal(syscall.SIGTSTP)
	p.waitOut(`^got SIGTSTP`)
	p.signal(syscall.SIGCONT)
	p.waitOut(`^got SIGCONT`)
	p.signal(syscall.SIGTERM)
	status := p.wait()
	if status != 137 {
		t.Errorf("exit status %d, want 137", status)
	}
	r := ran{status, p.out(), p.err()}
	if !regexp.MustCompile(`^ready \d+\ngot SIGTSTP\ngot SIGCONT\n(got SIGTERM\n)?$`).MatchString(r.out) {
		t.Errorf("stdout has more than the worker's lines: %q", r.out)
	}
	return r
}

// lifeLines are the lines of a whole life: the level, what the message looks
// like, and what the fields say where they say something.
var lifeLines = []struct {
	level  string
	msg    string
	fields string // all but time, level, logger and msg; W is the worker's pid
}{
	{"debug", `^settings: --grace 300ms; log level `, ``},
	{"debug", `^started worker\[W\]$`, `pid=W comm=worker`},
	{"info", `^quiet: SIGTSTP to worker\[W\]$`, `phase=quiet signal=SIGTSTP`},
	{"info", `^running again: SIGCONT to worker\[W\]$`, `phase=running signal=SIGCONT`},
	{"debug", `^sent SIGTERM to worker\[W\]: `, `phase=draining signal=SIGTERM pid=W comm=worker`},
	{"info", `^stopping: SIGTERM sent to worker\[W\]; what still runs after 300ms is killed$`, `phase=draining signal=SIGTERM left_s=`},
	{"warn", `^grace period of 300ms over: killing worker\[W\] \([a-z ]+, [0-9.]+s old\)$`, `phase=killing`},
	{"info", `^stopped after [0-9.]+s: killed worker\[W\] \(grace period of 300ms over\); exit status 137$`, `phase=done signal=SIGTERM`},
}

// levels in the order in which --log-level takes them.
var levels = []string{"error", "warn", "info", "debug"}

// linesAt are the lines of a whole life that a level shows.
func linesAt(level string) (shown []int) {
	for i, l := range lifeLines {
		if slices.Index(levels, l.level) <= slices.Index(levels, level) {
			shown = append(shown, i)
		}
	}
	return shown
}

func TestTextLogOfAWholeLife(t *testing.T) {
	prefix := map[string]string{"warn": "drainit: warning: ", "info": "drainit: ", "debug": "drainit: "}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(t *testing.T, noPID1 bool) {
				r := wholeLife(t, noPID1, "--log-format=text", "--log-level="+level)
				lines, want := linesOf(r.err), linesAt(level)
				if len(lines) != len(want) {
					t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), r.err)
				}
				for i, line := range lines {
					l := lifeLines[want[i]]
					msg, ok := strings.CutPrefix(line, prefix[l.level])
					if !ok || !regexp.MustCompile(withPID(l.msg, r.out)).MatchString(msg) {
						t.Errorf("line %q, want %q%s", line, prefix[l.level], l.msg)
					}
				}
			})
		})
	}
}

func TestJSONLogOfAWholeLife(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(t *testing.T, noPID1 bool) {
				began := time.Now()
				r := wholeLife(t, noPID1, "--log-format=json", "--log-level="+level)
				lines, want := jsonLines(t, r.err), linesAt(level)
				if len(lines) != len(want) {
					t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), r.err)
				}
				for i, line := range lines {
					line.wantTimeSince(t, began)
					l := lifeLines[want[i]]
					if line["level"] != l.level || !regexp.MustCompile(withPID(l.msg, r.out)).MatchString(line["msg"].(string)) {
						t.Errorf("line %v, want %s %s", line, l.level, l.msg)
					}
					line.wantFields(t, withPID(l.fields, r.out))
				}
			})
		})
	}
}

func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}

// withPID puts the worker's pid, as it printed it, in place of W.
func withPID(pattern, out string) string {
	return strings.ReplaceAll(pattern, "W", regexp.MustCompile(`\d+`).FindString(out))
}

// jsonLine is one line of the log.
type jsonLine map[string]any

// jsonLines reads a log and checks what holds for every line of it: the keys,
// their types, and that nothing in it can move a cursor or begin a line.
func jsonLines(t *testing.T, log string) (all []jsonLine) {
	t.Helper()
	for _, text := range linesOf(log) {
		var line jsonLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %q", err, text)
		}
		wantPrintable(t, text)
		for _, key := range []string{"time", "level", "logger", "msg"} {
			if line[key] == nil {
				t.Errorf("no %s in %s", key, text)
			}
		}
		for key, value := range line {
			if form := jsonKeys[key]; form == "" || !regexp.MustCompile(form).MatchString(describeJSON(value)) {
				t.Errorf("%s is %s, want %q, in %s", key, describeJSON(value), form, text)
			}
			if s, ok := value.(string); ok {
				wantPrintable(t, s)
			}
		}
		all = append(all, line)
	}
	return all
}

// jsonKeys are all keys there are, and what describeJSON says of their values.
var jsonKeys = map[string]string{
	"time":   `^string \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`,
	"level":  `^string (error|warn|info|debug)$`,
	"logger": `^string drainit$`,
	"msg":    `^string .`,
	"phase":  `^string (running|quiet|draining|killing|done)$`,
	"signal": `^string SIG[A-Z0-9]+(\+\d+)?$`,
	"pid":    `^number [1-9]\d*$`,
	"comm":   `^string .+$`,
	"left_s": `^number \d+(\.\d)?$`,

	"duration_s": `^number \d+(\.\d)?$`,

	"left":    `^number \d+$`,
	"killed":  `^number [1-9]\d*$`,
	"status":  `^number \d+$`,
	"dropped": `^number [1-9]\d*$`,
}

func describeJSON(value any) string {
	switch v := value.(type) {
	case string:
		return "string " + v
	case float64:
		return fmt.Sprint("number ", v)
	}
	return fmt.Sprintf("%T %v", value, value)
}

// wantPrintable checks that nothing in a line is a control character, raw or
// of Unicode, or no UTF-8 at all.
func wantPrintable(t *testing.T, s string) {
	t.Helper()
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(s) || strings.ContainsFunc(s, bad) {
		t.Errorf("not printable: %q", s)
	}
}

// wantTimeSince checks that the line's time lies between then and now; it has
// milliseconds.
func (l jsonLine) wantTimeSince(t *testing.T, then time.Time) {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, l["time"].(string))
	if err != nil || at.Before(then.Add(-time.Millisecond)) || at.After(time.Now()) {
		t.Errorf("time %v (%v) is not between %v and now", l["time"], err, then)
	}
}

// wantFields checks the fields of the contract: "phase=quiet left_s=" wants the
// phase to be quiet, some left_s, and none of the others.
func (l jsonLine) wantFields(t *testing.T, fields string) {
	t.Helper()
	want := make(map[string]string)
	for _, field := range strings.Fields(fields) {
		key, value, _ := strings.Cut(field, "=")
		want[key] = value
	}
	for _, key := range []string{"phase", "signal", "pid", "comm", "left_s"} {
		value, wanted := want[key]
		got, ok := l[key]
		if wanted != ok || ok && value != "" && fmt.Sprint(got) != value {
			t.Errorf("%s is %v, want %q, in %v", key, got, fields, l)
		}
	}
}

// A worker that ends by itself and leaves nothing is no news: its own log is all there is.
func TestNothingIsLoggedOfAWorkerThatEndsByItself(t *testing.T) {
	for name, script := range map[string]string{
		"status 0":                       "exit 0",
		"status 1":                       "exit 1",
		"status 3":                       "exit 3",
		"status 125":                     "exit 125",
		"status 127":                     "exit 127",
		"status 137, as if killed":       "exit 137",
		"status 255":                     "exit 255",
		"children that ended before":     "true & sleep 0.01 & wait; exit 4",
		"an orphan that ended before":    `p=$(sh -c 'exit 9 & echo $!'); while kill -0 $p 2>/dev/null; do sleep 0.01; done; exit 5`,
		"signals that it did not notice": "trap : WINCH; kill -WINCH $PPID; exit 6",
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				r := runToEnd(t, Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c", "echo out; echo err >&2; " + script}})
				want := 0
				fmt.Sscanf(regexp.MustCompile(`\d+$`).FindString(script), "%d", &want)
				if r.status != want || r.out != "out\n" || r.err != "err\n" {
					t.Errorf("exit status %d, want %d; stdout %q, stderr %q", r.status, want, r.out, r.err)
				}
			})
		})
	}
}

// Passing signals on is no news either.
func TestNothingIsLoggedWhileRunning(t *testing.T) {
	bothModes(t, func(t *testing.T, noPID1 bool) {
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", workerBin, "listen", "-catch", "HUP,USR1,QUIT,WINCH", "-end", "QUIT", "-exit", "3"}})
		p.waitOut(`^ready`)
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH, syscall.SIGQUIT} {
			p.signal(sig)
		}
		p.wantExit(3)
		if p.err() != "" {
			t.Errorf("stderr: %q", p.err())
		}
	})
}

// A death by a signal that drainit did not send is news: out of memory, say.
func TestDeathByASignalOfOthersIsLogged(t *testing.T) {
	need(t, "perl")
	for _, sig := range []string{"KILL", "SEGV", "TERM", "USR1"} {
		t.Run(sig, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				args := []string{"--", "perl", "-e", `print "$$\n"; close STDOUT; kill $ARGV[0] => $$; sleep 1 while 1`, sig}
				r := runToEnd(t, Launch{NoPID1: noPID1, Args: args})
				lines := jsonLines(t, r.err)
				if len(lines) != 1 {
					t.Fatalf("%d lines: %s", len(lines), r.err)
				}
				msg := lines[0]["msg"].(string)
				if lines[0]["level"] != "warn" || !strings.Contains(msg, withPID("perl[W]", r.out)) || !strings.Contains(msg, "SIG"+sig) {
					t.Errorf("%s", r.err)
				}
				if memory := strings.Contains(msg, "memory"); memory != (sig == "KILL") {
					t.Errorf("is it out of memory? %s", msg)
				}
				lines[0].wantFields(t, withPID("pid=W comm=perl signal=SIG"+sig, r.out))
			})
		})
	}
}

// A worker that dies of the TERM which drainit sent has done what it was asked.
func TestDeathByDrainitsOwnSignalIsNoWarning(t *testing.T) {
	need(t, "perl")
	bothModes(t, func(t *testing.T, noPID1 bool) {
		raises := `$| = 1; $SIG{TERM} = sub { $SIG{TERM} = "DEFAULT"; kill TERM => $$ }; print "ready $$\n"; sleep 1 while 1`
		p := launch(t, Launch{NoPID1: noPID1, Args: []string{"--", "perl", "-e", raises}})
		p.waitOut(`^ready`)
		p.signal(syscall.SIGTERM)
		p.wantExit(143)
		lines := jsonLines(t, p.err())
		if len(lines) != 2 || lines[0]["level"] != "info" || lines[1]["level"] != "info" {
			t.Fatalf("want the beginning and the end of a stop:\n%s", p.err())
		}
		lines[0].wantFields(t, "phase=draining signal=SIGTERM left_s=30")
		lines[1].wantFields(t, "phase=done signal=SIGTERM")
		if msg := lines[1]["msg"].(string); !regexp.MustCompile(withPID(`^stopped after .*: perl\[W\] died of SIGTERM; exit status 143$`, p.out())).MatchString(msg) {
			t.Errorf("the end is %q", msg)
		}
	})
}

// Every 5 s of a drain a line says that it goes on, who is left and for how long.
func TestProgressIsLoggedWhileDraining(t *testing.T) {
	t.Parallel()
	p := start(t, "--grace=60", "--", workerBin, "listen", "-drain", "1h")
	pid := p.waitOut(`^ready (\d+)`)[1]
	began := time.Now()
	p.signal(syscall.SIGTERM)
	p.waitErr(`"msg":"draining, 1 process left \(worker\[` + pid + `\]\), SIGKILL in`)
	if since := time.Since(began); since < 5*time.Second {
		t.Errorf("the first came after %v", since)
	}
	line := jsonLines(t, p.err())[1]
	line.wantFields(t, "phase=draining left_s=")
	if left := line["left_s"].(float64); line["level"] != "info" || left > 55 || left < 60-5-patience.Seconds() {
		t.Errorf("%v", line)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(137)
	if !strings.Contains(p.err(), "second stop signal, force-stop: killing worker["+pid+"]") {
		t.Errorf("no force-stop in:\n%s", p.err())
	}
}
