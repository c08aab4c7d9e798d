package workers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/program"
	"drainit/test/harness"
)

// known are the starts whose worker is in the table of programs, by the beginning of the names of the matrix.
var known = []string{"`npm start`", "`npx -c", "`yarn start`", "`pnpm start`", "`make run`", "`composer",
	"`just run`", "`go run`", "`run-p app`",
	"`cross-env", "`lerna exec", "`foreman start`", "`supervisord`, one", "`runsvdir`", "`s6-svscan",
	"`runuser", "`timeout 300",
	"`timeout --foreground", "`dumb-init -c", "`su nobody", "`script", "`gunicorn`",
	"`celery worker`, prefork", "`puma` with", "`strace sh"}

// alsoKnown are starts of known programs that are in no table of the docs.
var alsoKnown = named([]way{
	{name: "`puma` with 2 workers", start: "puma -w 2 -b tcp://127.0.0.1:$PORT puma.ru", begin: request},
	{name: "`strace sh -c 'node app; exit $?'`"},
})

// TestReach signals each program that is known, counts the calls by which it signals others, and finds no
// more of them than the table says. By -inputs it does so by INT, too.
func TestReach(t *testing.T) {
	t.Parallel()
	harness.Full(t)
	harness.NeedRoot(t)
	harness.Need(t, "strace")
	stops := []unix.Signal{unix.SIGTERM}
	if *everyInput {
		stops = append(stops, unix.SIGINT)
	}
	for _, name := range known {
		if !harness.Row(name) {
			continue
		}
		all := slices.Concat(ways, alsoKnown)
		i := slices.IndexFunc(all, func(w way) bool { return strings.HasPrefix(w.name, name) })
		for _, sig := range stops {
			t.Run(unix.SignalName(sig)+" to "+name, func(t *testing.T) {
				t.Parallel()
				w := all[i]
				w.need(t, false)
				says, does, inTime := w.reach(t, sig, longJob)
				for job := 2 * longJob; !inTime; job *= 2 {
					says, does, inTime = w.reach(t, sig, job)
				}
				isSilent := strings.HasPrefix(name, "`celery") // at TERM, but for another setting
				missed := sig == unix.SIGTERM && says > program.NoProcess &&
					does == program.NoProcess && !isSilent
				if says == program.Unknown || does > says || missed {
					t.Errorf("it is known for %v, and does %v", says, does)
				}
			})
		}
	}
}

// reach is what is known of the worker of a way, and what it does when it is sent a signal alone, and whether
// half of its job was still to do then.
func (w way) reach(t *testing.T, sig unix.Signal, job time.Duration) (says, does program.Reach, inTime bool) {
	t.Helper()
	s := newScene(t, job)
	w.launch(t, s, harness.DrainitBin, []string{"--forward", "none", "--grace", "infinity"})
	if w.begin != nil {
		w.begin(t, s)
	}
	jobs := max(w.workers, 1)
	harness.WaitUntil(t, "the job begins",
		func() bool { return s.count("begin") >= jobs || !s.init.Running() })
	s.settle()
	worker := s.init.FirstChild()
	p, err := new(proc.Reader).Process(worker)
	harness.Must(t, err)
	self, children := harness.PidInside(worker), harness.ChildPids(worker)
	var inside []string
	for _, child := range children {
		inside = append(inside, harness.PidInside(child))
	}
	trace := filepath.Join(s.dir, "trace")
	strace := exec.Command("strace", "-f", "-qq", "-o", trace, "-e", "trace=kill,tkill,tgkill", "-p",
		strconv.Itoa(worker))
	harness.Must(t, strace.Start())
	t.Cleanup(func() { _ = strace.Process.Kill(); _ = strace.Wait() })
	harness.WaitUntil(t, "it is traced", func() bool { return harness.IsTraced(worker) })
	harness.Kill(t, worker, syscall.Signal(sig))
	inTime = time.Since(s.last("begin")) < job/2
	harness.WaitUntil(t, "the jobs end", func() bool { return s.count("done") >= jobs })
	s.init.End()
	b, err := os.ReadFile(trace)
	harness.Must(t, err)
	return program.Signals(&p, sig), reachIn(string(b), self, inside), inTime
}

// killed is a call that sends a stop signal, with the pid. Where another thread comes between its begin and
// its end, strace writes "<unfinished ...>" after its arguments.
var killed = regexp.MustCompile(`\bt?g?kill\((-?\d+),(?: \d+,)? SIG(?:TERM|INT|HUP)\b`)

// reachIn is how far the signals in a trace went.
func reachIn(trace, self string, children []string) program.Reach {
	does := program.NoProcess
	for _, m := range killed.FindAllStringSubmatch(trace, -1) {
		switch to := m[1]; {
		case to == self:
		case to == "0" || to[0] == '-':
			does = max(does, program.Group)
		case !slices.Contains(children, to):
			does = max(does, program.Group+1)
		default:
			does = max(does, program.Children)
		}
	}
	return does
}
