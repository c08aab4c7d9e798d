package workers

import (
	"cmp"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// seedWays are starts that articles on graceful shutdown advise, or warn of.
var seedWays = []way{
	{name: "INT to `npx tsx app` in a script", npm: true, programs: []string{"npx"}, status: 7, begin: prefer, signal: syscall.SIGINT,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "npx tsx app.ts\n"}, "bash", "start.sh")},
	{name: "`exec tsx app` in a script", npm: true, programs: []string{"bash"}, begin: prefer,
		prepare: app(nil, files{"start.sh": "exec tsx app.ts\n"}, "bash", "start.sh")},
	{name: "INT to `pm2-runtime start`", npm: true, signal: syscall.SIGINT,
		prepare: pm2(nil, "pm2-runtime", "start", "app.js")},
	{name: "INT to `npx pm2-runtime start`", npm: true, programs: []string{"npx"}, signal: syscall.SIGINT,
		prepare: pm2(nil, "npx", "pm2-runtime", "start", "app.js")},
	{name: "`pm2-runtime start` with `wait_ready`, `listen_timeout`", npm: true,
		prepare: hastyPM2(env{"READY": "1"}, ecosystem, "pm2-runtime", "start", "ecosystem.config.js")},
	{name: "`node app & disown -h %1` in a script, `--forking`", programs: []string{"node", "bash"}, flags: []string{"--forking"},
		prepare: app(nil, files{"start.sh": "node app.js &\ndisown -h %1\n"}, "bash", "start.sh")},
	{name: "`node app & disown; sleep infinity` in a script", programs: []string{"node", "bash"}, status: 7,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "node app.js & disown\nsleep infinity\n"}, "bash", "start.sh")},
	// The server is signalled when the worker has gone. It has nothing to do then.
	{name: "`node server & exec node app` in a script", programs: []string{"node", "bash"}, status: 7, workers: 2, inTurn: true, tells: 2,
		prepare: app(env{"STATUS": "7"}, files{"start.sh": "JOB=0 node app.js &\nexec node app.js\n"}, "bash", "start.sh")},
	{name: "`python3 server.py & exec node app` in a script", programs: []string{"node", "bash", "python3"}, status: 7, workers: 2, inTurn: true, tells: 2,
		prepare: withRecord(app(env{"STATUS": "7"}, files{"start.sh": "python3 server.py &\nexec node app.js\n", "server.py": busyServer}, "bash", "start.sh"))},
}

// busyServer looks for work all the time.
const busyServer = `
import signal, sys, time
from record import record

def signalled(*_):
    record("signalled", "SIGTERM")
    sys.exit()

signal.signal(signal.SIGTERM, signalled)
record("begin")
record("done")
while True:
    time.sleep(0.05)
`

// withRecord prepares a start with a program in Python that writes to the record.
func withRecord(prepare func(*testing.T, *scene) []string) func(*testing.T, *scene) []string {
	return func(t *testing.T, s *scene) []string {
		s.python(t)
		return prepare(t, s)
	}
}

// ecosystem is PM2's own way to set what PM2_KILL_TIMEOUT does, and to wait for the
// application to say that it is ready.
var ecosystem = files{"ecosystem.config.js": `
module.exports = { apps: [{ name: 'app', script: 'app.js', exec_mode: 'fork',
  kill_timeout: 20000, wait_ready: true, listen_timeout: 10000 }] };
`}

// way is one way to start a worker: a row of the matrix. The worker has a job
// in hand when the platform asks for the stop, and appends to $RECORD what
// happens to it, each line by one write, SECONDS being Unix time:
//
//	begin SECONDS         the job has begun
//	signalled SIGNAME SECONDS  its handler of the stop signal ran
//	done SECONDS          the job has ended whole
type way struct {
	name      string         // as a user would write it, and the row's name in the table
	programs  []string       // what it needs
	npm       bool           // it needs the packages of test/node too
	flags     []string       // drainit's, beside -v and --grace
	dumbInit  []string       // dumb-init's, where it can do what those do
	signal    syscall.Signal // what the platform sends; TERM if 0
	status    int            // the exit status under drainit
	workers   int            // how many processes do a job each; 1 if 0
	uncounted bool           // the worker can't count its handler's runs; drainit's log is asked instead
	tells     int            // how many processes drainit tells; not looked at if 0
	leaves    time.Duration  // how long the program itself takes to leave after its job, by its own code
	grace     time.Duration  // of both runs; 30s for the short job and 16s for the long one if 0
	inTurn    bool           // one of its processes is signalled when another has gone
	late      bool           // one of its processes waits for the last call, even where it rests
	unsaid    bool           // no line says so
	confined  bool           // with Docker's default capabilities, among which SYS_PTRACE is not

	// prepare writes files to the scene and returns the worker's command.
	prepare func(t *testing.T, s *scene) (command []string)
	// begin starts the job from outside, by a request or a queued task, once
	// the worker runs; nil where the worker starts it by itself.
	begin func(t *testing.T, s *scene)
	// kept reports whether the job's result came whole, which "done" alone does
	// not show: a client has its answer; nil where there is nothing more to ask.
	kept func(t *testing.T, s *scene) bool
}

// ways are the rows of the matrix, in its order.
var ways = slices.Concat(tight(nodeWays), tight(shellWays), tight(pm2Ways), serverWays, queueWays, hardWays)

// hardWays have a shell, launcher or manager between the init and the worker that
// neither dies of the signal at once nor passes it on as it should, or that does pass it on.
var hardWays = tight(slices.Concat(trapWays, deafWays, wrapperWays, managerWays, pipeWays, relayWays,
	confinedWays, userWays, threadWays, seedWays, correctTraps))

// tight gives the ways a grace whose last call comes after 9 s: the long job is over by
// then, and what is signalled by the last call only is signalled late, but in time.
func tight(ways []way) []way {
	for i := range ways {
		ways[i].grace = 12 * time.Second
	}
	return ways
}

// undecided is in the line about a process that waits for the last call, or the final one. On a busy
// machine one may still be at what its start had it do, and can't be proven untouched.
var undecided = regexp.MustCompile(`may have been signalled by|may have passed it on`)

// lastCall is the line of a process that the last call signals, with its time.
var lastCall = regexp.MustCompile(`"time":"([^"]+)"[^\n]*\bsent SIG[^\n]*: (the grace period is nearly over|the kill is near)"`)

// allBusy has each application in Node run all the time, so that none can be proven untouched.
// Only the short job is run.
var allBusy = flag.Bool("busy", false, "run the matrix with applications in Node that have a timer of 20 ms")

// shortJob is longer than what a launcher or trap takes to pass the signal on, and longJob
// than what su or the like leaves its command. Of a grace of 12 s the last call comes after 9.
const (
	shortJob = 3 * time.Second
	longJob  = 6 * time.Second
)

// TestMatrix starts a worker in each way and asks for the stop with its job in
// hand: the job ends whole, its process is signalled once, drainit leaves without a kill and
// with the status that the way promises, and nothing is left. Where a shell takes
// part it does so with each standard input.
func TestMatrix(t *testing.T) {
	harness.Full(t)
	table, page := newTable(), harness.VerificationText(t)
	t.Run("ways", func(t *testing.T) {
		for _, w := range ways {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.need(t)
				t.Run("short job", func(t *testing.T) {
					t.Parallel()
					o := w.check(t, dockers, shortJob, cmp.Or(w.grace, 30*time.Second))
					table.add(w, "drainit", o)
					if got, want := o.cell(w), cellIn(page, w); untimed(got) != untimed(want) {
						t.Errorf("%q, in the docs' table %q", got, want)
					}
				})
				if *allBusy {
					return
				}
				// The long job is with another standard input where there are others to show.
				in, others := dockers, w.otherInputs()
				if len(others) > 0 {
					in, others = others[0], others[1:]
				}
				if w.isPlain() {
					others = nil
				}
				t.Run("long job, short grace"+in.title(), func(t *testing.T) {
					t.Parallel()
					w.check(t, in, longJob, cmp.Or(w.grace, 16*time.Second))
				})
				for _, in := range others {
					t.Run("short job"+in.title(), func(t *testing.T) {
						t.Parallel()
						w.check(t, in, shortJob, cmp.Or(w.grace, 30*time.Second))
					})
				}
				if *withPeers {
					w.runPeers(t, table)
				}
			})
		}
	})
	if *withPeers {
		fmt.Print(table)
	}
}

// need skips the way where something that it needs is missing.
func (w way) need(t *testing.T) {
	t.Helper()
	harness.Need(t, w.programs...)
	if *asOthers && !w.confined && slices.ContainsFunc(forRoot, func(p string) bool { return slices.Contains(w.programs, p) }) {
		t.Skip("only root can start it")
	}
	if w.npm {
		harness.NeedNodePackages(t)
	}
}

// check runs the way under drainit and fails the test unless all is as it must be.
func (w way) check(t *testing.T, in input, job, grace time.Duration) outcome {
	t.Helper()
	return inHand(t, func(times time.Duration) outcome {
		s := newScene(t, times*job)
		s.input = in
		return w.checkIn(t, s, times*grace)
	})
}

// inHand repeats a run whose job was over before the request, as on a busy machine, with
// times as much time for all.
func inHand(t *testing.T, run func(times time.Duration) outcome) outcome {
	t.Helper()
	for times := time.Duration(1); times <= 16; times *= 2 {
		if o := run(times); !o.over {
			return o
		}
	}
	t.Fatal("each job is over before the request")
	return outcome{}
}

// checkIn is check in a scene that the caller has made.
func (w way) checkIn(t *testing.T, s *scene, grace time.Duration) outcome {
	t.Helper()
	flags := slices.Concat([]string{"-v", "--log-format", "json", "--grace", grace.String()}, w.flags)
	o := w.run(t, s, harness.DrainitBin, flags)
	if o.over {
		return o
	}
	want := max(w.workers, 1)
	if o.early {
		t.Error("ended before it was asked to")
	}
	if o.hangs {
		t.Error("drainit still runs long after its grace")
	} else if o.status != w.status {
		t.Errorf("exit status %d, want %d", o.status, w.status)
	}
	if !o.kept || o.begun != want || o.done != want {
		t.Errorf("the job is lost: %d begun, %d done, want %d", o.begun, o.done, want)
	}
	if !w.uncounted && o.signalled != want {
		t.Errorf("the handler ran %d times, want %d", o.signalled, want)
	}
	if !o.hangs && !o.early {
		s.init.WaitErr(`"msg":"stopped `) // its last line may be still on its way
	}
	log := s.init.Stderr.Text()
	tells := w.tells
	call := lastCall.FindStringSubmatch(log)
	o.late = call != nil
	if call != nil && !undecided.MatchString(log) {
		tells = 0 // what takes long to leave is in the last call too
		at, err := time.Parse(time.RFC3339, call[1])
		if err != nil {
			t.Fatal(err)
		}
		if !w.uncounted && !w.inTurn && !w.unsaid && s.last("signalled").After(at) {
			t.Error("the handler ran by the last call, without a line that it waits for that")
		}
	}
	wantSignalledOnce(t, log, tells)
	if strings.Contains(log, ": killing ") {
		t.Error("drainit had to kill")
	}
	s.init.WantNothingLeft()
	t.Logf("outcome: %s; drainit signalled %d, late %t", o.cell(w), len(deliveries.FindAllString(log, -1)), o.late)
	if t.Failed() {
		t.Logf("record:\n%s\nstdout:\n%s\nstderr:\n%s", s.lines(), s.init.Stdout.Text(), log)
	}
	return o
}

// deliveries are drainit's log lines "sent SIGTERM to node[17]: why". A name may
// hold anything.
var deliveries = regexp.MustCompile(`(?m)\bsent SIG\S+ to [^\n]*?\[(\d+)\]: `)

// wantSignalledOnce checks that drainit signalled a process, or as many as there must be if
// that is not 0, and no process twice.
func wantSignalledOnce(t *testing.T, log string, want int) {
	t.Helper()
	signalled := map[string]int{}
	for _, m := range deliveries.FindAllStringSubmatch(log, -1) {
		signalled[m[1]]++
	}
	if len(signalled) == 0 || want > 0 && len(signalled) != want {
		t.Errorf("drainit signalled %d processes, want %d", len(signalled), max(want, 1))
	}
	for pid, times := range signalled {
		if times > 1 {
			t.Errorf("drainit signalled %s %d times", pid, times)
		}
	}
}

// outcome is how a run ended.
type outcome struct {
	begun, signalled, done int           // lines of the record
	kept                   bool          // the job ended whole
	early                  bool          // the init ended before it was asked to
	over                   bool          // the jobs had ended before, and nothing was asked
	hangs                  bool          // the init did not end
	late                   bool          // the last call signalled a process
	status                 int           // its exit status
	after                  time.Duration // from the end of the last job to the end of the init, for the table
}

// run plays a scene under an init, up to its end or until it is clear that it
// hangs.
func (w way) run(t *testing.T, s *scene, bin string, flags []string) outcome {
	t.Helper()
	command := w.prepare(t, s)
	if *asOthers && !w.confined {
		command = s.giveAway(t, command)
	}
	l := harness.Launch{Bin: bin, Args: harness.Line(flags, command...), Dir: s.dir, Env: s.env, Setup: harness.Setup{Docker: w.confined || *asOthers}}
	if s.input.set != nil {
		l = s.input.set(t, l)
	}
	var g harness.CpuCgroup
	if *limit > 0 {
		g = harness.NewCPUCgroup(t)
		s.init = g.Run(l)
	} else {
		s.init = harness.Run(t, l)
	}
	if w.begin != nil {
		w.begin(t, s)
	}
	jobs := max(w.workers, 1)
	harness.WaitUntil(t, "the job begins", func() bool { return s.count("begin") >= jobs || !s.init.Running() })
	s.settle()
	if *limit > 0 {
		g.Limit(*limit)
	}
	o := outcome{early: !s.init.Running()}
	if o.over = !o.early && s.count("done") >= jobs; o.over {
		s.init.End()
		return o
	}
	s.init.Signal(cmp.Or(w.signal, syscall.SIGTERM))
	if s.plain {
		s.endJobs(t, w)
	}

	patience := s.job + harness.Patience
	if *withPeers && bin != harness.DrainitBin { // which has no grace: what hangs does so for good
		patience = s.job + 8*time.Second
	}
	select {
	case <-s.init.Done:
	case <-time.After(patience):
		o.hangs = true
	}
	end := time.Now()
	if !o.hangs {
		o.status = s.init.Wait()
		if s.noted != nil {
			<-s.noted
		}
	}
	o.begun, o.signalled, o.done = s.count("begin"), s.count("signalled"), s.count("done")
	o.kept = o.done == jobs && (w.kept == nil || w.kept(t, s))
	if o.done > 0 {
		o.after = max(0, end.Sub(s.last("done")))
	}
	return o
}

// settle waits until all is there that the start brings about, and rests. A job of a length of
// its own goes on meanwhile, and must not end.
func (s *scene) settle() {
	half := time.Now().Add(s.job / 2)
	if s.plain {
		half = time.Now().Add(harness.Patience)
	}
	s.init.WaitStarted(time.Until(half))
	// Of one that runs for another reason drainit can't prove that it has received no signal.
	// Some never rest.
	s.init.WaitAtRest(min(time.Until(half), 500*time.Millisecond))
}
