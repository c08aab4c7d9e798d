package workers

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// documentWays are the files of the documents that drainit follows, in testdata/matrix as they are
// printed there but for ports, paths and the record, and a worker of the Open Job Spec in each case
// of its conformance. drainit has its defaults.
var documentWays = named(
	slices.Concat(read("articles"), specWays("node ojs-worker.mjs"), specWays("sh -c 'node ojs-worker.mjs'")))

// TestDocumentsFiles plays them: what is in hand is done, or handed back where the worker's own limit
// is over, and each process is signalled once. drainit kills nothing, unless the row says 137.
func TestDocumentsFiles(t *testing.T) {
	t.Parallel()
	documents.run(t, func(t *testing.T, w way, report func(o outcome)) {
		report(w.check(t, dockers, cmp.Or(w.job, shortJob), 0))
	})
}

// preferred is a begin, or none, after which the way's processes go before others.
func preferred(begin func(t *testing.T, s *scene)) func(t *testing.T, s *scene) {
	return func(t *testing.T, s *scene) {
		if begin != nil {
			begin(t, s)
		}
		prefer(t, s)
	}
}

func requestTwice(t *testing.T, s *scene) { request(t, s); request(t, s) }

func bothAnswered(t *testing.T, s *scene) bool {
	first := answeredWhole(t, s)
	return answeredWhole(t, s) && first
}

// inSevenSteps reports whether the message in flight ended between the second step and the fourth.
func inSevenSteps(t *testing.T, s *scene) bool {
	order := `(?s)step cancel .*done .*step stream .*step client .*step channel .*step connection `
	return answeredWhole(t, s) && regexp.MustCompile(order).MatchString(s.lines())
}

// The wire's calls, in the order in which a worker makes them: with job-1 in flight, quiet, and at the end.
const (
	atWork  = `(?:(?:heartbeat running|fetch|work) .*\n)+`
	quiet   = `(?:heartbeat quiet \[job-1\] .*\n)`
	resumed = `(?:heartbeat running .*\n)*fetch .*\n`
	atEnd   = `(?:heartbeat quiet .*\n)*(?:heartbeat terminate \[\] .*\n)+$`
	drained = "^" + atWork + quiet + "+ack job-1 .*\n" + atEnd
	// Some beats wait when the job is given up.
	failed = "^" + atWork + quiet + `+(?:heartbeat quiet \[\] .*\n)*nack job-1 .*ShutdownError true\n` + atEnd
)

// inPattern are the wire's calls in the patterns of testdata.
var inPattern = strings.NewReplacer("WORKS", atWork, "QUIET", quiet, "RESUMED", resumed)

// specWays are the cases of the specification for one start of the worker.
func specWays(start string) []way {
	return each(read("spec"), func(w *way) {
		play := w.begin
		w.name, w.start = w.name+": `"+start+"`", start
		w.env = strings.TrimSpace("HEARTBEAT_MS=100 " + w.env)
		w.prepare = startWire
		w.begin = func(t *testing.T, s *scene) {
			s.wire.enqueue("job-1")
			s.wire.await("work job-1", 1)
			if play != nil {
				play(t, s)
			}
			s.init.Prefer() // the worker's own limit is in seconds
			end := time.AfterFunc(s.job, func() { s.wire.end("job-1") })
			t.Cleanup(func() { end.Stop() })
		}
	})
}

// onTheWire reports whether the worker's calls match a pattern.
func onTheWire(pattern string) func(t *testing.T, s *scene) bool {
	re := regexp.MustCompile(inPattern.Replace(pattern))
	return func(_ *testing.T, s *scene) bool { return re.MatchString(s.wire.lines()) }
}

// handedBack reports whether the job failed, to be tried again, when the worker's limit was over. The
// worker's clock for timers has milliseconds.
func handedBack(limit time.Duration) func(t *testing.T, s *scene) bool {
	return func(t *testing.T, s *scene) bool {
		return onTheWire(failed)(t, s) &&
			s.wire.await("nack job-1", 1).at.Sub(s.asked) >= limit-time.Millisecond
	}
}

// logged reports whether the worker had the number of its jobs in a line each 5 s, and drainit that of
// its processes.
func logged(t *testing.T, s *scene) bool {
	return onTheWire(drained)(t, s) &&
		strings.Count(s.init.Stdout.Text(), "draining: 1 jobs in flight\n") > 1 &&
		(s.peer || strings.Contains(s.init.Stderr.Text(), `"msg":"draining, `))
}

// handedBackIn25s is for the manifest whose platform kills after 30 s: drainit's own kill comes earlier.
func handedBackIn25s(t *testing.T, s *scene) bool {
	if !s.peer {
		limit, err := time.ParseDuration(s.init.WaitErr(`what still runs after (\S+) is killed`)[1])
		if err != nil || limit >= 30*time.Second {
			t.Errorf("drainit kills after %v, and the platform after 30 s (%v)", limit, err)
		}
	}
	return handedBack(25*time.Second)(t, s)
}

// quietAndResume quiets the worker until it has said so three times, and resumes it until it fetches.
func quietAndResume(t *testing.T, s *scene) {
	s.init.Signal(unix.SIGTSTP)
	s.awaitCalls(quiet + "{3}")
	s.init.Signal(unix.SIGCONT)
	s.awaitCalls(quiet + resumed)
}

// awaitCalls waits until the worker's calls match a pattern, which under another init they may never do.
func (s *scene) awaitCalls(pattern string) {
	re := regexp.MustCompile(pattern)
	patience := harness.Patience
	if s.peer {
		patience = 5 * time.Second
	}
	harness.Within(patience, func() bool { return re.MatchString(s.wire.lines()) || !s.init.Running() })
}

// notReady asks drainit's readiness probe before TSTP and after it.
func notReady(t *testing.T, s *scene) {
	awaitAnswer := func(want string) {
		harness.WaitUntil(t, "the readiness probe says "+want, func() bool {
			// which may not be served yet
			got, _ := harness.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", s.port))
			return got == want
		})
	}
	awaitAnswer("200 running")
	s.init.Signal(unix.SIGTSTP)
	awaitAnswer("503 quiet")
	s.wire.await("heartbeat quiet", 1)
}
