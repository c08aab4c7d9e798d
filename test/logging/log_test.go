package logging

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// lifeLines are the lines of a whole life: the level, what the message looks
// like, and what the fields say where they say something.
var lifeLines = []struct {
	level  string
	msg    string
	fields string // all but time, level, logger and msg; W is the worker's pid
}{
	{"debug", `^settings: .*--grace=300ms .*; pid \d+$`, `event=settings phase=starting`},
	{"debug", `^started worker\[W\]$`, `event=started phase=running pid=W comm=worker`},
	{"info", `^quiet: SIGTSTP to worker\[W\]$`, `event=quiet phase=quiet signal=SIGTSTP`},
	{"info", `^running again: SIGCONT to worker\[W\]$`, `event=running phase=running signal=SIGCONT`},
	{"debug", `^sent SIGTERM to worker\[W\]: `,
		`event=signal_sent phase=draining signal=SIGTERM pid=W comm=worker`},
	{"info", `^stopping: SIGTERM sent to worker\[W\]; what still runs after 300ms is killed$`,
		`event=stopping phase=draining request=SIGTERM signal=SIGTERM left_s=`},
	{"warn",
		`^grace period of 300ms over: killing worker\[W\] \([a-z ]+, [0-9.]+s old\); --grace gives ` +
			`more time$`, `event=killing phase=killing reason=grace pid=W comm=worker loses=yes`},
	{"debug", `^ended: worker\[W\] died of SIGKILL$`,
		`event=child_ended phase=killing status=137 signal=SIGKILL pid=W comm=worker`},
	{"info", `^stopped after [0-9.]+s: killed worker\[W\] \(grace period of 300ms over\); exit status 137$`,
		`event=ended phase=done reason=grace status=137 request=SIGTERM pid=W comm=worker`},
}

// levels in the order in which --log-level takes them.
var levels = harness.Words("error warn info debug")

// A worker lives through quiet, running again, draining and the kill at the end of the grace. It
// is waited for what the worker says only, so that it goes with every log level.
func TestLogOfAWholeLife(t *testing.T) {
	for _, tt := range []struct{ format, level string }{{"json", "debug"}, {"text", "debug"},
		{"text", "info"}, {"text", "warn"}, {"text", "error"}} {
		t.Run(tt.format+" "+tt.level, func(t *testing.T) {
			t.Parallel()
			if tt.format != "json" { // which has the lines of all
				harness.Usual(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				began := time.Now()
				p := harness.Run(t, harness.Launch{NoPID1: noPID1,
					Args: []string{"--grace=300ms", "--log-format=" + tt.format, "--log-level=" + tt.level,
						"--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM", "-end", ""}})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTSTP)
				p.WaitOut(`^got SIGTSTP`)
				p.Signal(syscall.SIGCONT)
				p.WaitOut(`^got SIGCONT`)
				p.Signal(syscall.SIGTERM)
				p.WantExit(137)
				if !regexp.MustCompile(`^ready \d+\ngot SIGTSTP\ngot SIGCONT\n(got SIGTERM\n)?$`).
					MatchString(p.Out()) {
					t.Errorf("stdout has more than the worker's lines: %q", p.Out())
				}
				wantLife(t, p, tt.format, tt.level, began)
			})
		})
	}
}

// wantLife compares a log with the lines of a whole life that its level shows.
func wantLife(t *testing.T, p *harness.Init, format, level string, began time.Time) {
	t.Helper()
	pid := p.WaitOut(`^ready (\d+)`)[1]
	lines, n := harness.LinesOf(p.Err()), 0
	for _, l := range lifeLines {
		if slices.Index(levels, l.level) > slices.Index(levels, level) {
			continue
		}
		if n++; n > len(lines) {
			break
		}
		line, prefix := lines[n-1], "drainit: "
		if l.level == "warn" {
			prefix = "drainit: warning: "
		}
		msg, ok := strings.CutPrefix(line, prefix)
		if format == "json" {
			entry := harness.JsonLines(t, line)[0]
			at, err := time.Parse(time.RFC3339, entry["time"].(string)) // it has milliseconds
			if err != nil || at.Before(began.Add(-time.Millisecond)) || at.After(time.Now()) {
				t.Errorf("time %v is not between %v and now: %v", at, began, err)
			}
			entry.WantFields(t, strings.ReplaceAll(l.fields, "W", pid))
			msg, ok = entry["msg"].(string), entry["level"] == l.level
		}
		if !ok || !regexp.MustCompile(strings.ReplaceAll(l.msg, "W", pid)).MatchString(msg) {
			t.Errorf("line %q, want %s %q", line, l.level, l.msg)
		}
	}
	if n != len(lines) {
		t.Errorf("%d lines, want %d:\n%s", len(lines), n, p.Err())
	}
}

// A worker that ends by itself and leaves nothing is no news, but for a status that is not 0; nor is a signal
// that it sends drainit and does not notice, nor an orphan that ended before.
func TestLogOfAWorkerThatEndsByItself(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		for status, fields := range map[int]string{0: "",
			137: "event=ended phase=done reason=exit status=137 comm=sh pid="} {
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1,
				Args: []string{"--", "sh", "-c", `echo out; echo err >&2; trap : WINCH; kill -WINCH $PPID
				p=$(sh -c 'exit 9 & echo $!'); while kill -0 $p 2>/dev/null; do sleep 0.01; done
				exit ` + strconv.Itoa(status)}})
			log, ok := strings.CutPrefix(r.Err, "err\n")
			lines := harness.JsonLines(t, log)
			if r.Status != status || r.Out != "out\n" || !ok || len(lines) != min(status, 1) {
				t.Errorf("exit status %d; stdout %q, stderr %q", r.Status, r.Out, r.Err)
			} else if status != 0 {
				lines[0].WantFields(t, fields)
			}
		}
	})
}

// A worker that a shell became is named as what it is when it dies, however soon that is after
// its exec: as the kernel names it in its own log.
func TestKilledWorkerIsNamedAsWhatItHasBecome(t *testing.T) {
	harness.Need(t, "python3", "sh")
	harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{harness.LongGrace, "--", "sh", "-c",
			`exec python3 -uc 'import os, time; print("ready", os.getpid()); time.sleep(3600)'`}})
		worker, inside := p.ReadyPid(`^ready`), p.WaitOut(`^ready (\d+)`)[1]
		time.Sleep(500 * time.Millisecond) // what is tested
		name := harness.Comm(worker)
		if !strings.HasPrefix(name, "python3") {
			t.Fatalf("the worker is called %q", name)
		}
		harness.Kill(t, worker, unix.SIGKILL)
		p.WantExit(137)
		p.WantLogged(`\bsh\[`, 0)
		p.WantLogged(`"level":"warn".*"msg":"`+name+
			`\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory`, 1)
		harness.JsonLines(t, p.Err())[0].WantFields(t,
			"event=worker_killed phase=running reason=outside status=137 pid="+inside+" comm="+name+
				" signal=SIGKILL")
	})
}
