package workers

import (
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// allVerdicts has the verdict on each start proven, not only on a sample.
var allVerdicts = flag.Bool("verdicts", false, "rehearse the stop of each start, and stop it with a job in hand")

// signalledWithin is how late a job may be signalled of which the verdict is that it drains.
const signalledWithin = 1500 * time.Millisecond

// settled is how long a start is given.
const settled = 4 * time.Second

// TestDrainsIsKept has the verdict of drainit plan on each start, idle, and then stops it with a job of 8 s in hand that
// runs all the time. Where the verdict is that it drains, the job is kept, and is signalled once, in time. There is no
// list of exceptions: of a start of which that is not so, the verdict must be another.
//
//	go test ./test/workers -run DrainsIsKept -v -verdicts
func TestDrainsIsKept(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	var sum verdicts
	t.Cleanup(func() { t.Log(&sum) })
	sample := 16
	if *allVerdicts {
		sample = 1
	}
	for i, w := range slices.Concat(ways, foundWays) {
		if i%sample == 0 {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.need(t, false)
				sum.prove(t, w)
			})
		}
	}
	for _, tt := range losing {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.way.need(t, false)
			if verdict := sum.prove(t, tt.way); !slices.Contains(strings.Fields(tt.verdict), verdict) {
				t.Errorf("the verdict is %s, want %s", verdict, tt.verdict)
			}
		})
	}
}

// verdicts count the starts, and those that keep their job though the verdict is another.
type verdicts struct{ starts, drain, kept, missed atomic.Int64 }

func (s *verdicts) String() string {
	return fmt.Sprintf("%d starts, of which %d drain by their verdict; %d keep a busy job, and %d of these have another verdict",
		s.starts.Load(), s.drain.Load(), s.kept.Load(), s.missed.Load())
}

// prove rehearses a start, stops it with a job in hand, and compares the two.
func (s *verdicts) prove(t *testing.T, w way) (verdict string) {
	t.Helper()
	if w.start == "" {
		w.start = "bash start.sh"
	}
	w.start = strings.ReplaceAll(w.start, "perl app.pl", "node app.js") // whose job has an end of its own
	verdict, why := w.rehearse(t)
	if w.begin == nil { // the stop comes as long after the start as that of the rehearsal
		w.begin = func(*testing.T, *scene) { time.Sleep(settled) }
	}
	o := inHand(t, func(times time.Duration) outcome {
		real := newScene(t, times*busyJob)
		real.env = append(real.env, "TICK=2", once)
		flags := append([]string{"-v", "--log-format=json"}, strings.Fields(real.fill(w.flags))...)
		o := w.run(t, real, harness.DrainitBin, flags)
		o.over = o.over || o.done >= max(w.workers, 1) && !real.last("done").After(real.asked) || o.early && o.done > 0
		if t.Failed() {
			t.Logf("record:\n%s\nlog:\n%s", real.lines(), real.init.Err())
		}
		return o
	})
	want := max(w.workers, 1)
	kept := o.kept && !o.hangs && !o.early && o.begun == want
	signalled := w.uncounted || o.signalled == want && (o.signalledAfter <= signalledWithin || w.inTurn)
	drains := verdict == "drains"
	s.starts.Add(1)
	switch {
	case kept && signalled && !drains:
		s.missed.Add(1)
	case drains && !(kept && signalled):
		t.Errorf("the verdict is %s; the job: %s", verdict, o.cell(w))
	}
	if kept && signalled {
		s.kept.Add(1)
	}
	if drains {
		s.drain.Add(1)
	}
	t.Logf("| %s | %s | %s | %s |", w.name, verdict, o.cell(w), why)
	return verdict
}

// rehearse is the verdict of drainit plan, and its reasons.
func (w way) rehearse(t *testing.T) (verdict, why string) {
	t.Helper()
	job := time.Duration(0)
	if strings.Contains(w.uses, `sleep "$JOB"`) { // there is no worker at rest
		job = 2 * busyJob
	}
	s := newScene(t, job)
	args := append([]string{"plan", "--json", "--settle=" + settled.String()}, strings.Fields(s.fill(w.flags))...)
	if w.signal != 0 && w.signal != syscall.SIGTERM && !strings.Contains(w.flags, "--stop-signal") {
		args = append(args, "--stop-signal="+strings.TrimPrefix(signalName(w.signal), "SIG"))
	}
	if w.status != 0 && w.status < 128 {
		args = append(args, "--remap-exit", fmt.Sprint(w.status))
	}
	command := w.place(t, s)
	r := harness.RunToEnd(t, harness.Launch{Args: harness.Line(args, command...), Dir: s.dir, Env: s.env, Setup: harness.Setup{Docker: w.confined}})
	var said struct {
		Verdict string
		Reasons []struct{ Comm, Why string }
	}
	if err := json.Unmarshal([]byte(r.Out), &said); err != nil {
		t.Errorf("%v: %+v", err, r)
	}
	for _, reason := range said.Reasons {
		why += reason.Comm + " " + reason.Why + "; "
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("%s\n%s", r.Out, r.Err)
	}
	return said.Verdict, why
}

func signalName(sig syscall.Signal) string {
	return map[syscall.Signal]string{syscall.SIGINT: "INT", syscall.SIGHUP: "HUP", syscall.SIGQUIT: "QUIT", syscall.SIGUSR1: "USR1"}[sig]
}

// losing are starts that lose their job, or would if it were busy.
var losing = []struct {
	name, verdict string // one of these
	way           way
}{
	{"a trap ends an application without a handler", notDrains, way{env: "CATCH=none", script: trapAndWait, uncounted: true}},
	{"a trap ends a program without a handler", "loses_work", way{script: strings.Replace(trapAndWait, "node app.js", bareJob, 1), uncounted: true, files: bare("")}},
	{"terminate() ends a program without a handler", "loses_work", way{start: "python3 ends.py", uncounted: true, files: bare("import signal, subprocess, sys\n" +
		`p = subprocess.Popen(["perl", "bare.pl"])` + "\ndef end(*_):\n  p.terminate()\n  p.wait()\n  sys.exit(0)\nsignal.signal(signal.SIGTERM, end)\nwhile True: signal.pause()\n")}},
	{"a manager kills its job at once", "loses_work", way{start: "python3 kills.py", files: files{"kills.py": "import signal, subprocess, sys\n" +
		"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + `subprocess.run(["node", "app.js"])` + "\n"}}},
	{"a manager kills its job after two seconds", "loses_work", way{start: "python3 kills.py", files: files{"kills.py": "import signal, subprocess, sys\n" +
		`p = subprocess.Popen(["node", "app.js"])` + "\ndef end(*_):\n  p.terminate()\n  try: p.wait(2)\n  except subprocess.TimeoutExpired: p.kill()\n  sys.exit(0)\n" +
		"signal.signal(signal.SIGTERM, end)\nwhile True: signal.pause()\n"}}},
	{"su kills its job after two seconds", "loses_work not_certain", way{start: "su nobody -s /bin/sh -c 'exec node app.js'"}},
	{"PM2 kills its job after 1.6 s", "loses_work not_certain", way{start: "pm2-runtime start app.js"}},
	{"the worker alone is signalled", "loses_work", way{start: "sh -c 'node app.js; exit $?'", flags: "--forward worker"}},
	{"the worker alone is signalled, by -c", "loses_work", way{start: "sh -c 'node app.js; exit $?'", flags: "-c"}},
	{"one of two jobs fails", "loses_work", way{start: "sh -c 'STATUS=3 node app.js & node app.js & wait'", workers: 2, kept: noneKept}},
	{"one of two jobs fails, below a trap", "loses_work not_certain", way{script: "trap 'kill $(jobs -p)' TERM\nSTATUS=3 node app.js &\nnode app.js &\nwait\nwait\nexit 0", workers: 2, kept: noneKept}},
	{"the job fails below subprocess.run", "loses_work", way{start: "python3 run.py", env: "STATUS=3", kept: noneKept, files: files{"run.py": "import subprocess\nsubprocess.run(['node', 'app.js'])\n"}}},
	{"the job fails below make", notDrains, way{start: "make -s run", env: "STATUS=3", kept: noneKept, files: makefile}},
	{"the job dies of SIGSEGV below subprocess.run", "loses_work", way{start: "python3 run.py", kept: noneKept, uncounted: true, files: files{"run.py": "import subprocess\nsubprocess.run(['perl', 'faults.pl'])\n",
		"faults.pl": faults}}},
	{"the job writes to a pipe of subprocess.run", notDrains, way{start: "python3 run.py", env: "CHATTY=1", uncounted: true, files: files{"run.py": "import subprocess\nsubprocess.run(['node', 'app.js'], capture_output=True)\n"}}},
	{"the job is signalled only if it is asleep", "not_certain", way{script: "trap 'exit 0' TERM\nnode app.js &\nwait"}},
	{"its manager leaves it", notDrains, way{start: "python3 leaves.py", files: files{"leaves.py": "import signal, subprocess, sys\n" +
		`p = subprocess.Popen(["node", "app.js"])` + "\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nwhile True: signal.pause()\n"}}},
	{"no handler", "loses_work", way{start: bareJob, uncounted: true, files: bare("")}},
}

const (
	notDrains   = "loses_work not_certain"
	trapAndWait = "node app.js & p=$!\ntrap 'kill $p; wait $p; exit 0' TERM\nwait $p"
	bareJob     = `perl bare.pl`
	faults      = `$SIG{TERM} = sub { kill SEGV => $$; sleep 9 }; open F, ">>", $ENV{RECORD}; syswrite F, "begin 1\n"; sleep 1 while 1;`
)

// bare are the files of a start with a job that has no handler.
func bare(ends string) files {
	return files{"ends.py": ends, "bare.pl": `sub note { open F, ">>", $ENV{RECORD}; syswrite F, "$_[0] " . time . "\n" } note("begin"); ` +
		`sleep($ENV{JOB} || 3600); note("done");`}
}

// noneKept is for a job that ends, and fails.
func noneKept(*testing.T, *scene) bool { return false }
