package workers

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// allVerdicts has the verdict on each start proven, not only on a sample.
var allVerdicts = flag.Bool(
	"verdicts", false, "rehearse the stop of each start of the matrix, with its job in hand")

// TestSignalsArrive rehearses the stop of the starts of the matrix with their job in hand: the verdict is
// that the signals arrive, but for the few that the matrix calls late.
//
//	go test ./test/workers -run SignalsArrive -v -verdicts
func TestSignalsArrive(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	sample := 16
	if *allVerdicts {
		sample = 1
	}
	for i, w := range ways {
		if i%sample != 0 {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.need(t, false)
			got := w.rehearseBusy(t, "")
			if want := "signals_arrive"; got.Verdict != want && !w.late {
				t.Errorf("the verdict is %s, want %s", got.Verdict, want)
			}
			t.Logf("| %s | %s | %s |", w.name, got.Verdict, got.why())
		})
	}
}

// attacks are starts that lose their job, and those that look as if they did.
var attacks = named(read("attacks"))

// manager is a program in Python that starts a command, given as a list, and ends it by other commands.
func manager(arg string) files {
	command, ends, _ := strings.Cut(arg, ": ")
	return files{"manages.py": "import signal, subprocess, sys, time\n" +
		"p = subprocess.Popen([" + command + "])\n" +
		"def end(*_):\n  " + ends + "\n  sys.exit(0)\n" +
		"signal.signal(signal.SIGTERM, end)\nwhile True: signal.pause()\n"}
}

// buildBare builds a program in Go without a handler.
func buildBare(t *testing.T, s *scene) {
	t.Helper()
	from := harness.Repo("test/workers/testdata/matrix/bare.go")
	build := exec.Command("go", "build", "-o", "bare-go", from)
	build.Dir = s.dir
	harness.OutputOf(t, build)
}

// TestVerdictsOnAttacks rehearses them: idle, with a job
// in hand, and with a check of that, too. Then it stops each with a job in hand. No verdict is drains without
// a check, nor with one unless the job is kept by the real stop.
//
//	go test ./test/workers -run VerdictsOnAttacks -v
func TestVerdictsOnAttacks(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	var mu sync.Mutex
	rows := make(map[string]string)
	t.Cleanup(func() {
		t.Log("| start | idle | with a job | and a check | the real stop |")
		for _, w := range attacks {
			t.Log(rows[w.name]) // "" for one that was not run
		}
	})
	for _, w := range attacks {
		if !harness.Row(w.name) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.need(t, false)
			idle, busy, checked := w.rehearseIdle(t), w.rehearseBusy(t, ""), w.rehearseBusy(t, w.done())
			o := w.stopped(t)
			kept := o.kept && !o.hangs && !o.early
			verdicts := cmp.Or(w.verdicts, "loses_work signals_arrive")
			for _, got := range []said{idle, busy} {
				if !slices.Contains(strings.Fields(verdicts), got.Verdict) {
					t.Errorf("without a check the verdict is %s, want one of %s", got.Verdict, verdicts)
				}
			}
			if checked.Verdict == "drains" && !kept || checked.Verdict == "signals_arrive" {
				t.Errorf("with a check the verdict is %s, and the real stop: %s", checked.Verdict, o.cell(w))
			}
			keeps := w.drains || w.keeps
			if drains := checked.Verdict == "drains"; drains != w.drains || kept != keeps {
				t.Errorf("drains %t, want %t; kept %t, want %t", drains, w.drains, kept, keeps)
			}
			mu.Lock()
			defer mu.Unlock()
			rows[w.name] = fmt.Sprintf(
				"| %s | %s | %s | %s | %s |", w.name, idle.Verdict, busy.Verdict, checked.Verdict, o.cell(w))
		})
	}
}

// said is what drainit plan --json prints.
type said struct {
	Verdict string
	Reasons []struct{ Comm, Why string }
}

func (s said) why() (text string) {
	for _, r := range s.Reasons {
		text += r.Comm + " " + r.Why + "; "
	}
	return text
}

// done is a command that fails unless each job of the way was done.
func (w way) done() string {
	return fmt.Sprintf(`test "$(grep -c ^done "$RECORD")" -ge %d`, max(w.workers, 1))
}

// plan are the arguments of a rehearsal of the way in a scene.
func (w way) plan(t *testing.T, s *scene, flags ...string) harness.Launch {
	t.Helper()
	args := slices.Concat([]string{"plan", "--json"}, flags, strings.Fields(s.fill(w.flags)))
	stop := syscall.SIGTERM
	if w.signal != 0 && !strings.Contains(w.flags, "--stop-signal") {
		stop = w.signal
		args = append(args, "--stop-signal="+signalName(stop))
	}
	if w.status != 0 && w.status != 128+int(stop) && w.status != 128+int(syscall.SIGTERM) {
		args = append(args, "--remap-exit", fmt.Sprint(w.status))
	}
	command := w.place(t, s)
	return harness.Launch{Args: harness.Line(args, command...), Dir: s.dir, Env: s.env,
		Setup: harness.Setup{Docker: w.confined}}
}

// rehearseIdle is the verdict on a start without a job in hand.
func (w way) rehearseIdle(t *testing.T) said {
	t.Helper()
	s := newScene(t, 0)
	s.init = harness.Run(t, w.plan(t, s))
	return s.verdict(t)
}

// rehearseBusy is the verdict on a start with its job in hand. check is the command of --check, "" for none.
func (w way) rehearseBusy(t *testing.T, check string) (v said) {
	t.Helper()
	inHand(t, func(times time.Duration) (o outcome) {
		s := newScene(t, times*longJob)
		begun := filepath.Join(s.dir, "handed-over")
		flags := []string{"--during", "until test -e " + begun + "; do sleep 0.1; done"}
		if check != "" {
			flags = append(flags, "--check", check)
		}
		s.init = harness.Run(t, w.plan(t, s, flags...))
		if w.begin != nil {
			w.begin(t, s)
		}
		jobs := max(w.workers, 1)
		harness.WaitUntil(t, "the job begins",
			func() bool { return s.count("begin") >= jobs || !s.init.Running() })
		harness.WriteFile(t, begun, "")
		harness.WaitUntil(t, "the stop begins",
			func() bool { return strings.Contains(s.init.Err(), `"event":"stopping"`) || !s.init.Running() })
		o.over = s.count("done") >= jobs
		v = s.verdict(t)
		return o
	})
	return v
}

// verdict is what a rehearsal has said at its end.
func (s *scene) verdict(t *testing.T) (v said) {
	t.Helper()
	s.init.Wait()
	if err := json.Unmarshal([]byte(s.init.Out()), &v); err != nil || t.Failed() || testing.Verbose() {
		t.Logf("%v\n%s\n%s\n%s", err, s.init.Out(), s.lines(), s.init.Err())
	}
	return v
}

// stopped is how the start ends by a real stop with its job in hand.
func (w way) stopped(t *testing.T) outcome {
	t.Helper()
	return inHand(t, func(times time.Duration) outcome {
		s := newScene(t, times*longJob)
		o := w.run(t, s, harness.DrainitBin,
			append([]string{"-v", "--log-format=json"}, strings.Fields(s.fill(w.flags))...))
		if t.Failed() {
			t.Logf("record:\n%s\nlog:\n%s", s.lines(), s.init.Err())
		}
		return o
	})
}

func signalName(sig syscall.Signal) string {
	return map[syscall.Signal]string{
		syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT", syscall.SIGUSR1: "USR1",
		syscall.SIGTERM: "TERM"}[sig]
}
