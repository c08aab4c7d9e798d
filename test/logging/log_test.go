package logging

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// wholeLife runs a worker through quiet, running again, draining and the kill
// at the end of the grace, and returns all that was printed. It waits for what
// the worker says only, so that it goes with every log level.
func wholeLife(t *testing.T, noPID1 bool, flags ...string) harness.Ran {
	t.Helper()
	flags = append([]string{"--grace=300ms"}, flags...)
	p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: append(flags, "--", harness.WorkerBin, "listen", "-catch", "TSTP,CONT,TERM", "-end", "")})
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTSTP)
	p.WaitOut(`^got SIGTSTP`)
	p.Signal(syscall.SIGCONT)
	p.WaitOut(`^got SIGCONT`)
	p.Signal(syscall.SIGTERM)
	status := p.Wait()
	if status != 137 {
		t.Errorf("exit status %d, want 137", status)
	}
	r := harness.Ran{Status: status, Out: p.Out(), Err: p.Err()}
	if !regexp.MustCompile(`^ready \d+\ngot SIGTSTP\ngot SIGCONT\n(got SIGTERM\n)?$`).MatchString(r.Out) {
		t.Errorf("stdout has more than the worker's lines: %q", r.Out)
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
	{"debug", `^settings: --grace 300ms; pid \d+$`, `phase=starting`},
	{"debug", `^started worker\[W\]$`, `phase=running pid=W comm=worker`},
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
	harness.Usual(t)
	prefix := map[string]string{"warn": "drainit: warning: ", "info": "drainit: ", "debug": "drainit: "}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			r := wholeLife(t, false, "--log-format=text", "--log-level="+level)
			lines, want := harness.LinesOf(r.Err), linesAt(level)
			if len(lines) != len(want) {
				t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), r.Err)
			}
			for i, line := range lines {
				l := lifeLines[want[i]]
				msg, ok := strings.CutPrefix(line, prefix[l.level])
				if !ok || !regexp.MustCompile(withPID(l.msg, r.Out)).MatchString(msg) {
					t.Errorf("line %q, want %q%s", line, prefix[l.level], l.msg)
				}
			}
		})
	}
}

func TestJSONLogOfAWholeLife(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			if level != "debug" { // which has the lines of all
				harness.Usual(t)
			}
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				began := time.Now()
				r := wholeLife(t, noPID1, "--log-format=json", "--log-level="+level)
				lines, want := harness.JsonLines(t, r.Err), linesAt(level)
				if len(lines) != len(want) {
					t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), r.Err)
				}
				for i, line := range lines {
					line.WantTimeSince(t, began)
					l := lifeLines[want[i]]
					if line["level"] != l.level || !regexp.MustCompile(withPID(l.msg, r.Out)).MatchString(line["msg"].(string)) {
						t.Errorf("line %v, want %s %s", line, l.level, l.msg)
					}
					line.WantFields(t, withPID(l.fields, r.Out))
				}
			})
		})
	}
}

// withPID puts the worker's pid, as it printed it, in place of W.
func withPID(pattern, out string) string {
	return strings.ReplaceAll(pattern, "W", regexp.MustCompile(`\d+`).FindString(out))
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
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "sh", "-c", "echo out; echo err >&2; " + script}})
				want := 0
				fmt.Sscanf(regexp.MustCompile(`\d+$`).FindString(script), "%d", &want)
				if r.Status != want || r.Out != "out\n" || r.Err != "err\n" {
					t.Errorf("exit status %d, want %d; stdout %q, stderr %q", r.Status, want, r.Out, r.Err)
				}
			})
		})
	}
}

// Passing signals on is no news either.
func TestNothingIsLoggedWhileRunning(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", harness.WorkerBin, "listen", "-catch", "HUP,USR1,QUIT,WINCH", "-end", "QUIT", "-exit", "3"}})
		p.WaitOut(`^ready`)
		for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGWINCH, syscall.SIGQUIT} {
			p.Signal(sig)
		}
		p.WantExit(3)
		if p.Err() != "" {
			t.Errorf("stderr: %q", p.Err())
		}
	})
}

// A death by a signal that drainit did not send is news: out of memory, say.
func TestDeathByASignalOfOthersIsLogged(t *testing.T) {
	harness.Need(t, "perl")
	for _, sig := range []string{"KILL", "SEGV", "TERM", "USR1"} {
		t.Run(sig, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				args := []string{"--", "perl", "-e", `print "$$\n"; close STDOUT; kill $ARGV[0] => $$; sleep 1 while 1`, sig}
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: args})
				lines := harness.JsonLines(t, r.Err)
				if len(lines) != 1 {
					t.Fatalf("%d lines: %s", len(lines), r.Err)
				}
				msg := lines[0]["msg"].(string)
				if lines[0]["level"] != "warn" || !strings.Contains(msg, withPID("perl[W]", r.Out)) || !strings.Contains(msg, "SIG"+sig) {
					t.Errorf("%s", r.Err)
				}
				if memory := strings.Contains(msg, "memory"); memory != (sig == "KILL") {
					t.Errorf("is it out of memory? %s", msg)
				}
				lines[0].WantFields(t, withPID("phase=running pid=W comm=perl signal=SIG"+sig, r.Out))
			})
		})
	}
}

// A worker that dies of the TERM which drainit sent has done what it was asked.
func TestDeathByDrainitsOwnSignalIsNoWarning(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		raises := `$| = 1; $SIG{TERM} = sub { $SIG{TERM} = "DEFAULT"; kill TERM => $$ }; print "ready $$\n"; sleep 1 while 1`
		p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "perl", "-e", raises}})
		p.WaitOut(`^ready`)
		p.Signal(syscall.SIGTERM)
		p.WantExit(143)
		lines := harness.JsonLines(t, p.Err())
		if len(lines) != 2 || lines[0]["level"] != "info" || lines[1]["level"] != "info" {
			t.Fatalf("want the beginning and the end of a stop:\n%s", p.Err())
		}
		lines[0].WantFields(t, "phase=draining signal=SIGTERM left_s=")
		if left, _ := lines[0]["left_s"].(float64); left > 30 || left <= 0 { // less on a busy machine
			t.Errorf("left_s is %v of a grace period of 30s", lines[0]["left_s"])
		}
		lines[1].WantFields(t, "phase=done signal=SIGTERM")
		if msg := lines[1]["msg"].(string); !regexp.MustCompile(withPID(`^stopped after .*: perl\[W\] died of SIGTERM; exit status 143$`, p.Out())).MatchString(msg) {
			t.Errorf("the end is %q", msg)
		}
	})
}
