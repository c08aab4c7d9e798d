package systems

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// What runs by these has a long job too, and the other inits.
var (
	chosenSystems = flag.String("systems", "",
		"run the job systems whose names match `pattern` (all: each), under the other inits too, not CI's")
	chosenServers = flag.String("servers", "", "run the servers whose names match `pattern`, likewise")
)

func inCI() bool { return *chosenSystems+*chosenServers == "" }

// inits are the columns of the sums.
var inits = []string{"drainit", "tini -s", "tini -g", "dumb-init"}

// trial is one stop of a worker.
type trial struct {
	system
	form
	init  string
	job   time.Duration // how long each job takes
	limit time.Duration // what the worker has to end them in, by its own setting
	quiet bool          // it gets TSTP, and TERM when its jobs are done
}

// trials are the stops of a system's worker. A long job takes longer than the limit of a worker that gives it
// back then.
func (y system) trials() (all []trial) {
	const job, limit = 3 * time.Second, 25 * time.Second
	long := trial{system: y, form: forms[1], job: 20 * time.Second, limit: limit}
	if y.limited {
		long.limit = 8 * time.Second
	}
	for _, init := range inits {
		if init != "drainit" && inCI() {
			continue
		}
		if y.start.name != "" {
			all = append(all, trial{y, y.start, init, job, limit, false})
			continue
		}
		for _, f := range append(slices.Clone(forms), runners[y.runner]) {
			all = append(all, trial{y, f, init, job, limit, false})
		}
		if !inCI() {
			long.init = init
			all = append(all, long)
		}
	}
	if y.quiets {
		all = append(all, trial{y, forms[1], "drainit", job, limit, true})
	}
	return all
}

func (r trial) String() string {
	name := fmt.Sprintf("%s, %.0f s/%s", r.form.name, r.job.Seconds(), r.init)
	if r.quiet {
		name += ", quiet"
	}
	return name
}

// TestSystems stops each worker by TERM in each start, with a job in each of its slots. Under drainit each of
// them is done once, or given back by the system itself, and none starts after the stop:
//
//	go test ./test/systems -systems all -servers all -timeout 3h -update
func TestSystems(t *testing.T) {
	harness.Full(t)
	t.Cleanup(func() { writeSums(t) })
	for _, y := range slices.Concat(systems, besides, servers, avoided) {
		if !y.isChosen() {
			continue
		}
		t.Run(y.name, func(t *testing.T) {
			y.need(t)
			t.Parallel()
			next := y.broker(t)
			for _, r := range y.trials() {
				t.Run(r.String(), func(t *testing.T) {
					t.Parallel()
					r.run(t, next)
				})
			}
		})
	}
}

// isChosen reports whether a system runs. Of those that take turns CI has four, by the number of commits.
func (y system) isChosen() bool {
	if inCI() {
		taking := slices.DeleteFunc(slices.Concat(systems, servers), func(o system) bool { return !o.turns })
		place := slices.IndexFunc(taking, func(o system) bool { return o.name == y.name })
		return y.inCI || y.turns && place%(len(taking)/4) == commits()%(len(taking)/4)
	}
	pattern := *chosenSystems
	if y.isServer() {
		pattern = *chosenServers
	}
	return pattern == "all" || pattern != "" && regexp.MustCompile(pattern).MatchString(y.name)
}

// commits is how many there are, 0 in an archive.
var commits = sync.OnceValue(func() int {
	out, _ := exec.Command("git", "-C", harness.Repo(), "rev-list", "--count", "HEAD").Output()
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return n
})

// need skips a system of which this machine lacks something.
func (y system) need(t *testing.T) {
	t.Helper()
	harness.Need(t, "make", "bash")
	if strings.HasSuffix(y.runner, "npm start") {
		harness.NeedNodePackages(t)
	}
	if y.isServer() {
		harness.NeedRoot(t) // some serve as another user
	}
	needPackages(t, y.needs)
}

// needPackages skips a test on a machine without these packages of Debian's.
func needPackages(t *testing.T, names string) {
	t.Helper()
	for name := range strings.FieldsSeq(names) {
		found, _ := filepath.Glob("/var/lib/dpkg/info/" + name + "[.:]*list") // fails for a bad pattern only
		if found == nil {
			harness.Skip(t, "needs "+name+" (apt-get install "+name+")")
		}
	}
}

// run stops the worker and checks and notes what came of its jobs. On a busy machine a job may be over before
// the next begins: then all have more time.
func (r trial) run(t *testing.T, next func() string) {
	for range 5 {
		s := r.newScene(t, next())
		s.launch(t)
		s.stop(t)
		c := s.count(t)
		if c.Jobs < s.slots {
			r.job, r.limit = 2*r.job, 2*r.limit
			continue
		}
		t.Logf("%+v", c)
		if r.init == "drainit" {
			s.wantKept(t, c)
		}
		if !r.quiet { // which the other inits have not
			counted.Lock()
			defer counted.Unlock()
			counted.add(r.system.name, r.init, c)
		}
		return
	}
	t.Error("each time a job is over before the others begin, or the init has ended")
}

// launch adds jobs and starts the worker, which has as many of them in hand as it can when it returns.
func (s *scene) launch(t *testing.T) {
	t.Helper()
	words := []string{"add"}
	for n := range s.slots + 2 { // two wait
		words = append(words, s.named(n))
	}
	if !s.isServer() {
		s.ask(t, words...)
	}
	l := harness.Launch{Dir: s.dir, Env: s.env}
	grace := max(s.job, s.limit) + 10*time.Second
	flags := append([]string{"-v", "--grace", grace.String()}, strings.Fields(s.system.stop)...)
	l.Args = harness.Line(flags, s.command...)
	if s.trial.init != "drainit" {
		words := strings.Fields(s.trial.init)
		l.Bin, l.Args = words[0], harness.Line(words[1:], s.command...)
	}
	s.init = harness.Run(t, l)
	if s.isServer() {
		s.request(t)
	}
	s.await(t, "begin ")
	s.init.WaitAtRest(500 * time.Millisecond) // some never rest
}

// named is a job with its time, of the worker's or of a request.
func (s *scene) named(n int) string { return fmt.Sprintf("j%d:%.0f", n, s.job.Seconds()) }

// await waits until that has come to a job in each slot.
func (s *scene) await(t *testing.T, what string) {
	t.Helper()
	harness.WaitUntil(t, what+"in each slot", func() bool {
		return strings.Count(s.recorded(t), what) >= s.slots || !s.init.Running()
	})
}

// stop asks for the stop, and waits for the end, which drainit must come to. Another init that hangs is
// killed, as a platform does it.
func (s *scene) stop(t *testing.T) {
	t.Helper()
	s.note("stop\n")
	if s.quiet {
		s.init.Signal(unix.SIGTSTP)
		s.await(t, "done ")
		s.init.WaitAtRest(2 * time.Second) // one that is not quiet begins the next
	}
	s.init.Signal(s.stopSignal())
	if s.trial.init == "drainit" {
		s.init.Wait()
	}
	select {
	case <-s.init.Done:
	case <-time.After(s.job + 15*time.Second):
		s.hung = 1
	}
	s.init.End()
}

// stopSignal is TERM, which drainit may rewrite, or the one by which an image of the server says how it is
// stopped (STOPSIGNAL).
func (s *scene) stopSignal() unix.Signal {
	if s.system.stop == "" || s.trial.init == "drainit" && strings.HasPrefix(s.system.stop, "--rewrite") {
		return unix.SIGTERM
	}
	return unix.SignalNum("SIG" + s.system.stop[strings.LastIndexAny(s.system.stop, " :")+1:])
}
