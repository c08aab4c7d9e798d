package workers

import (
	"cmp"
	"flag"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"drainit/test/harness"
)

// undecided is in the line about a process that waits for the last call. On a busy machine
// one may still be at what its start had it do, and can't be proven untouched.
var undecided = regexp.MustCompile(
	`may have been signalled by|not signalled: [^"\n]*: left to [^"\n]*; it is signalled|not signalled yet: `)

// lastCall is the line of a process that the last call signals, with its time.
var lastCall = regexp.MustCompile(
	`"time":"([^"]+)"[^\n]*\bsent SIG[^\n]*: (the grace period is nearly over|the kill is near)"`)

// allBusy has each application in Node run all the time, so that none can be proven untouched, and
// pressed leaves the applications no CPU time but their share. everyInput starts each way with each standard
// input, too, and with a long job under a short grace period.
var (
	allBusy = flag.Bool("busy", false,
		"run the matrix with applications in Node that have a timer of 20 ms")
	pressed    = flag.Bool("pressed", false, "run the matrix beside a busy loop on each processor")
	everyInput = flag.Bool("inputs", false,
		"run the matrix with each standard input, with a job near the end of its grace period, "+
			"and each application that never rests, and TestReach by INT, too")
)

// shortJob is longer than what a launcher or trap takes to pass the signal on, and longJob
// than what su or the like leaves its command. Of a grace of 12 s the last call comes after 9.
const (
	shortJob = 3 * time.Second
	longJob  = 6 * time.Second
	busyJob  = 8 * time.Second

	harshGrace = 20 * time.Second // for the job of 8 s: what waits for the last call is signalled after 15 s
)

// condition is what is tried.
func condition() string {
	switch {
	case *pressed:
		return scarce
	case *allBusy:
		return busy
	}
	return calm
}

// press takes the CPU time: a busy loop for each processor runs until the test has ended.
func press(t *testing.T) {
	for range runtime.NumCPU() {
		loop := exec.Command("sh", "-c", "while :; do :; done")
		loop.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		harness.Must(t, loop.Start())
		t.Cleanup(func() {
			_ = loop.Process.Kill()
			_ = loop.Wait() // killed
		})
	}
}

// TestMatrix starts a worker in each way and asks for the stop with its job in
// hand: the job ends whole, its process is signalled once, drainit leaves without a kill and
// with the status that the way promises, and nothing is left. All of it takes six minutes:
//
//	go test ./test/workers -run TestMatrix -inputs
func TestMatrix(t *testing.T) {
	t.Parallel()
	if *pressed {
		press(t)
	}
	starts.run(t, func(t *testing.T, w way, report func(o outcome)) {
		short := func(in input, report func(o outcome)) {
			t.Run("short job"+in.title, func(t *testing.T) {
				t.Parallel()
				if condition() != calm {
					report(w.check(t, in, busyJob, harshGrace))
				} else {
					report(w.check(t, in, shortJob, cmp.Or(w.grace, 30*time.Second)))
				}
			})
		}
		short(dockers, report)
		if condition() != calm || !*everyInput {
			return
		}
		// The long job is with another standard input where there are others to show.
		in, others := dockers, w.otherInputs()
		if len(others) > 0 {
			in, others = others[0], others[1:]
		}
		t.Run("long job, short grace"+in.title, func(t *testing.T) {
			t.Parallel()
			w.check(t, in, longJob, cmp.Or(w.grace, 16*time.Second))
		})
		if !w.isPlain() { // the application in Perl has all inputs
			for _, in := range others {
				short(in, func(outcome) {})
			}
		}
	})
}

// run runs each way of the table under drainit, by a function that reports its outcome, which must
// be that in the file, and under the other inits where that is asked for.
func (a table) run(t *testing.T, play func(t *testing.T, w way, report func(o outcome))) {
	harness.Full(t)
	known, ran := a.read(t), found{cells: make(cells)}
	var late lateRows
	late.wantFew(t)
	t.Run("ways", func(t *testing.T) {
		for _, w := range a.ways {
			if !harness.Row(w.name) {
				continue
			}
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.need(t, false)
				play(t, w, func(o outcome) {
					ran.add(w, "drainit", o)
					late.count(t, w, o)
					if got, want := o.cell(w),
						known.of(w, "drainit"+condition()); untimed(got) != untimed(want) && !*update {
						t.Errorf("%q, in %s %q", got, a.file, want)
					}
				})
				if *withPeers && !*pressed && !w.alone {
					w.runPeers(t, a.inits[1:], &ran)
				}
			})
		}
	})
	a.report(t, &ran)
}

// check runs the way under drainit, with its default grace period if that is 0, and fails the test
// unless all is as it must be.
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
	flags := append([]string{"-v", "--log-format", "json"}, strings.Fields(s.fill(w.flags))...)
	if w.signal == syscall.SIGINT {
		flags = append(flags, "--stop-signal", "INT") // which the plan goes by
	}
	if grace > 0 {
		flags = append(flags, "--grace", grace.String())
	}
	o := w.run(t, s, harness.DrainitBin, flags)
	if w.disconnects && o.signalled < o.done && !o.early && !o.hangs &&
		!strings.Contains(s.init.Stderr.Text(), ": killing ") {
		o.over = true // on a busy machine the signal comes after the job
		t.Logf("a job ended before its signal:\n%s\n%s", s.lines(), s.init.Stderr.Text())
	}
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
	if !o.kept || o.begun != want {
		t.Errorf("the job is lost: %d begun, %d done, want %d", o.begun, o.done, want)
	}
	if !w.uncounted && o.signalled != want {
		t.Errorf("the handler ran %d times, want %d", o.signalled, want)
	}
	log := s.logAtEnd(o)
	tells := w.tells
	call := lastCall.FindStringSubmatch(log)
	o.late = call != nil
	if call != nil && !undecided.MatchString(log) {
		tells = 0 // what takes long to leave is in the last call too
		at, err := time.Parse(time.RFC3339, call[1])
		harness.Must(t, err)
		if !w.uncounted && !w.inTurn && s.last("signalled").After(at) {
			t.Error("the handler ran by the last call, without a line that it waits for that")
		}
	}
	wantSignalledOnce(t, log, tells)
	if killed, want := strings.Contains(log, ": killing "), w.status == 137; killed != want {
		t.Errorf("drainit kills: %t, want %t", killed, want)
	}
	s.wantForeseen(t, log)
	s.init.WantNothingLeft()
	t.Logf("outcome: %s; drainit signalled %d, late %t", o.cell(w),
		len(deliveries.FindAllString(log, -1)), o.late)
	if t.Failed() {
		t.Logf("record:\n%s\nstdout:\n%s\nstderr:\n%s", s.lines(), s.init.Stdout.Text(), log)
	}
	return o
}

// logAtEnd is drainit's log of a run that has ended: the last line of a stop may be still on its way then.
func (s *scene) logAtEnd(o outcome) string {
	if !o.hangs && !o.early && !o.over {
		s.init.WaitErr(`"event":"ended"`)
	}
	return s.init.Stderr.Text()
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
		if signalled[m[1]]++; signalled[m[1]] == 2 {
			t.Errorf("drainit signalled %s twice", m[1])
		}
	}
	if len(signalled) == 0 || want > 0 && len(signalled) != want {
		t.Errorf("drainit signalled %d processes, want %d", len(signalled), max(want, 1))
	}
}

// outcome is how a run ended.
type outcome struct {
	begun, signalled, done int  // lines of the record
	kept                   bool // the job ended whole, or by the way's word
	early                  bool // the init ended before it was asked to
	rests                  bool // nothing ran below the init for 0.1 s right before it was asked to
	// the jobs had ended before the request, or what disconnects before its signal
	over   bool
	hangs  bool          // the init did not end
	late   bool          // the last call signalled a process
	status int           // its exit status
	after  time.Duration // from the end of the last job to the end of the init, for the table
	// from the stop signal to the first signal of the job that got one last, 0 for none
	signalledAfter time.Duration
}

// run plays a scene under an init, up to its end or until it is clear that it
// hangs.
func (w way) run(t *testing.T, s *scene, bin string, flags []string) outcome {
	t.Helper()
	w.launch(t, s, bin, flags)
	if w.begin != nil {
		w.begin(t, s)
	}
	jobs := max(w.workers, 1)
	harness.WaitUntil(t, "the job begins",
		func() bool { return s.count("begin") >= jobs || !s.init.Running() })
	if bin == harness.DrainitBin && strings.Contains(w.flags, "--forking") &&
		!strings.Contains(w.script, "--attach") {
		s.init.WaitErr(`runs on in`) // on a busy machine the jobs begin before what starts them has ended
	}
	rests := s.settle()
	o := outcome{rests: rests, early: !s.init.Running()}
	if o.over = !o.early && s.count("done") >= jobs; o.over {
		s.init.End()
		return o
	}
	if bin == harness.DrainitBin {
		s.foresee(t)
	}
	atHand := w.asks(t, s) // all jobs must be, until then
	patience := s.job + harness.Patience
	if s.peer { // which has no grace: what hangs does so for good
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
	if !s.plain && !w.uncounted && o.signalled == 0 { // a signal may be on its way while a job ends
		atHand = atHand.Add(100 * time.Millisecond)
	}
	if at := s.times("done"); len(at) >= jobs && at[jobs-1].Before(atHand) {
		o.over = true // while it was asked
		return o
	}
	if at := s.times("signalled"); len(at) >= jobs {
		o.signalledAfter = max(1, at[jobs-1].Sub(s.asked))
	}
	if w.word != "" {
		jobs = 0
	}
	o.kept = o.done == jobs && (w.kept == nil || w.kept(t, s))
	if o.done > 0 {
		o.after = max(0, end.Sub(s.last("done")))
	}
	return o
}

// asks asks for the stop, and returns when it did for the last time.
func (w way) asks(t *testing.T, s *scene) time.Time {
	t.Helper()
	s.asked = time.Now()
	if w.ask != nil {
		w.ask(t, s)
	} else {
		s.init.Signal(cmp.Or(w.signal, syscall.SIGTERM))
	}
	if s.plain {
		s.endJobs(t, w)
	}
	if !w.again {
		return s.asked
	}
	s.awaitCalls(quiet)
	harness.PastTheSameRequest()
	again := time.Now()
	s.init.Signal(cmp.Or(w.signal, syscall.SIGTERM))
	return again
}

// settle waits until all is there that the start brings about, and rests, and reports whether it
// does. A job of a length of its own goes on meanwhile, and must not end.
func (s *scene) settle() bool {
	half := time.Now().Add(s.job / 2)
	if s.plain {
		half = time.Now().Add(harness.Patience)
	}
	s.init.WaitStarted(time.Until(half))
	// Of one that runs for another reason drainit can't prove that it has received no signal.
	// Some never rest.
	return s.init.WaitAtRest(min(time.Until(half), 500*time.Millisecond))
}

// withPeers also runs the ways of the matrix under other inits, which fails
// nothing and takes its time, and prints the sums of all.
var withPeers = flag.Bool(
	"peers", false, "run the matrix under other inits too, calm or with -busy, and print its sums")

// runPeers runs the way under each of these inits.
func (w way) runPeers(t *testing.T, inits []string, ran *found) {
	t.Helper()
	job := cmp.Or(w.job, shortJob)
	if *allBusy {
		job = busyJob
	}
	for _, init := range inits {
		t.Run(init, func(t *testing.T) {
			program, flag, _ := strings.Cut(init, " ")
			flags := strings.Fields(flag)
			if program == "dumb-init" {
				flags = slices.Concat(flags, strings.Fields(w.dumbInit))
			}
			bin := harness.PathOf(t, program)
			ran.add(w, init, inHand(t, func(times time.Duration) outcome {
				s := newScene(t, times*job)
				s.peer = true
				return w.run(t, s, bin, flags)
			}))
		})
	}
}
