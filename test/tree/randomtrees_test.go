package tree

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

var (
	trees = flag.Int("trees", 0, "stop so many random trees")
	seed  = flag.Uint64("seed", 0, "the seed of the first random tree; the next has the next one")
)

// Random trees are stopped at a random moment. No process is signalled by drainit outside the calls and by
// another, each job gets the signal, and none is killed before it has drained. With -trees, a tree of which a
// job is signalled twice, or does not drain, is stopped below tini, too: what that keeps is lost in the calls
// alone. It is two samples of a race, for a reader: two managers of a tree may ask one job, and
// tini keeps that where its drain is over in between.
//
//	go test ./test/tree -run RandomTrees -v -trees 600 [-seed N]
func TestRandomTrees(t *testing.T) {
	harness.Need(t, "perl", "bash", "dash", "timeout", "setsid")
	t.Parallel()
	first, number := *seed, *trees
	switch {
	case number == 0: // the same ones each time
		first, number = max(first, 1), harness.Of(40, 24)
	case first == 0:
		first = rand.Uint64N(1e9)
	}
	t.Logf("%d trees, -seed %d, all programs: %v", number, first, fullForest())
	var all sync.WaitGroup
	var sum sums
	atOnce := make(chan bool, 40) // they mostly sleep
	for i := range uint64(number) {
		atOnce <- true
		all.Go(func() {
			defer func() { <-atOnce }()
			t.Run(fmt.Sprint("seed ", first+i), func(t *testing.T) {
				// Of no shorter grace period, the final call has its whole two seconds before the kill.
				r := stopTree(t, first+i, peer{"", "--grace=20s"})
				r.check(&sum)
				if *trees > 0 {
					r.compare(&sum)
				}
			})
		})
	}
	all.Wait()
	t.Log(&sum)
}

// stopped is what became of a random tree.
type stopped struct {
	t    *testing.T
	seed uint64
	text string
	log  string

	before, record string                // the record when the stop came, and at the end
	events         map[string][]event    // by pid
	jobs           []string              // the pids of those that were ready before the stop
	id             map[string]string     // the numbers in the tree, by pid
	without        map[string]string     // likewise, the kinds of those that drain without a signal
	sent           map[string][]delivery // by pid
	groups         []groupSignal
	call           float64           // when drainit made the first call
	why            map[string]string // it had not signalled a process before, by pid
}

// event is a line of the record.
type event struct {
	at   float64 // seconds; of a shell, which tells no time, that of the line after it
	what string
}

// ownGroup is what a process records that signals its group.
const ownGroup = "passes to its group"

type groupSignal struct {
	pid string
	at  float64
}

// delivery is a signal that drainit has sent.
type delivery struct {
	at   float64
	rule string
}

// stopTree grows a tree, and stops it below an init. Below another than drainit, it is ready by then.
func stopTree(t *testing.T, seed uint64, by peer) *stopped {
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "member.pl"), harness.TextOf(t, "testdata/forest/member.pl"))
	harness.WriteFile(t, filepath.Join(dir, "record"), "")
	command, text := grow(t, seed, dir)
	r := &stopped{t: t, seed: seed, text: text, events: make(map[string][]event),
		without: make(map[string]string), why: make(map[string]string), sent: make(map[string][]delivery)}
	read := func() string { return harness.TextOf(t, filepath.Join(dir, "record")) }
	isDrainit, flags := by.program == "", []string{by.flag}
	if isDrainit {
		flags = append(flags, "-v", "--log-format=json")
	}
	p := harness.Run(t, harness.Launch{Bin: by.program, Dir: dir, Args: harness.Line(flags, command...)})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%v -seed %d -trees 1\n%s\nrecord when it was stopped:\n%s\nrecord:\n%s\nlog:\n%s", by,
				seed, text, r.before, read(), p.Stderr.Text())
		}
	})
	if isDrainit {
		p.WaitTitle("drainit:run")
	}
	moment := rand.New(rand.NewPCG(seed, 1))
	if moment.IntN(4) > 0 || !isDrainit { // else it may come before they are ready
		jobs := strings.Count(text, ": job,")
		harness.WaitUntil(t, "the jobs are ready",
			func() bool { return strings.Count(read(), " ready job") == jobs || !p.Running() })
	}
	time.Sleep(time.Duration(moment.IntN(300)) * time.Millisecond) // part of the scenario
	r.before = read()
	p.Signal(unix.SIGTERM)
	// what a platform does
	if !isDrainit && !harness.Within(8*time.Second, func() bool { return !p.Running() }) {
		p.Signal(unix.SIGKILL)
	}
	p.Wait()
	p.WantNothingLeft()
	r.record = read()
	if isDrainit {
		r.log = p.Err()
		r.parse()
	}
	return r
}

// compare stops a tree with a job that was not kept below tini, too, twice, and logs what becomes of it
// there. Two signals that come at once are one, and may not be the next time.
func (r *stopped) compare(sum *sums) {
	below := became(r.record)
	lost := slices.DeleteFunc(slices.Clone(r.jobs),
		func(pid string) bool { return below[r.id[pid]] == "kept once" })
	for _, by := range others {
		if len(lost) == 0 || !by.isInstalled() {
			return
		}
		first, again := became(stopTree(r.t, r.seed, by).record), became(stopTree(r.t, r.seed, by).record)
		for _, pid := range lost {
			id := r.id[pid]
			r.t.Logf("-seed %d, job %s: %s below drainit, which sent %v; %s, and %s, below %s %s",
				r.seed, id, below[id], r.sent[pid], first[id], again[id], by.program, by.flag)
			switch {
			case first[id] != "kept once" || again[id] != "kept once":
			case r.isInLimits(pid):
				sum.worse.Add(1)
				r.t.Logf("drainit sent, by pid: %v\n%s\nrecord:\n%s", r.sent, r.text, r.record)
			default:
				r.t.Errorf("%s %s keeps job %s, which is %s below drainit", by.program, by.flag, id,
					below[id])
			}
		}
	}
}

// isInLimits reports whether the page of limits has what became of a job that tini keeps: a call has
// signalled it, or one above it, or one that signals its group; or drainit has left it to those above.
// Its second signal may be of one that signals its group, and that another of the tree has asked to.
func (r *stopped) isInLimits(pid string) bool {
	got := r.all(pid, "got")
	isOfTheTree := func(by groupSignal) bool { return len(r.sent[by.pid]) == 0 && by.at <= got[1].at }
	if len(r.sent[pid]) == 0 && len(got) == 2 && slices.ContainsFunc(r.groups, isOfTheTree) {
		return true
	}
	mayBe := append(r.above(r.id[pid]), r.id[pid])
	for of, sent := range r.sent {
		signalsGroup := len(r.all(of, ownGroup)) > 0
		isAbove := slices.Contains(mayBe, r.id[of])
		if sent[0].rule != "the worker" && isAbove && !signalsGroup && sent[0].at < r.call {
			return false
		}
	}
	return true
}

// above are the numbers of those above one in the tree.
func (r *stopped) above(id string) (all []string) {
	lines := strings.Split(r.text, "\n") // each has the number of its line
	level := func(n int) int { return len(lines[n]) - len(strings.TrimLeft(lines[n], " ")) }
	n := harness.Number(r.t, id)
	for at, up := level(n-1), n-2; up >= 0; up-- {
		if level(up) < at {
			at = level(up)
			all = append(all, strconv.Itoa(up+1))
		}
	}
	return all
}

func (r *stopped) parse() {
	next := math.Inf(1)
	r.call, r.id = next, make(map[string]string)
	for _, l := range slices.Backward(harness.LinesOf(r.record)) {
		f := strings.Fields(l)
		if at, err := strconv.ParseFloat(f[0], 64); err == nil {
			next = at
		}
		what := strings.Join(f[3:], " ")
		r.id[f[2]] = f[1]
		r.events[f[2]] = append(r.events[f[2]], event{next, what})
		if what == ownGroup {
			r.groups = append(r.groups, groupSignal{f[2], next})
		}
	}
	for _, all := range r.events {
		slices.Reverse(all) // now the first comes first
	}
	for l := range strings.Lines(r.before) {
		if f := strings.Fields(l); len(f) > 4 && f[3] == "ready" && f[4] == "job" {
			r.jobs = append(r.jobs, f[2])
		} else if len(f) > 4 && (f[4] == "reader" || f[4] == "server") {
			r.without[f[2]] = f[4]
		}
	}
	for _, l := range harness.JsonLines(r.t, r.log) {
		if m := whySignalled.FindStringSubmatch(l["msg"].(string)); m != nil {
			at, err := time.Parse(time.RFC3339Nano, l["time"].(string))
			harness.Must(r.t, err)
			d := delivery{float64(at.UnixMicro()) / 1e6, m[2]}
			r.sent[m[1]] = append(r.sent[m[1]], d)
			if byCall.MatchString(d.rule) {
				r.call = min(r.call, d.at)
			}
		} else if m := whyNot.FindStringSubmatch(l["msg"].(string)); m != nil && math.IsInf(r.call, 1) {
			for _, p := range pidIn.FindAllStringSubmatch(m[1], -1) {
				r.why[p[1]] = m[2]
			}
		}
	}
}

var (
	whyNot = regexp.MustCompile(`^not signalled: (.*?\[\d+\]): ([^;]*)`)
	pidIn  = regexp.MustCompile(`\[(\d+)\]`)
	named  = regexp.MustCompile(`\S+\[\d+\]`)
	mksh   = regexp.MustCompile(`(?m): [ml]ksh: `) // it signals its group when it dies of the signal
	byCall = regexp.MustCompile(`^(the grace period is nearly over|the kill is near)`)
)

// check checks that no process was signalled twice, and each job once.
func (r *stopped) check(sum *sums) {
	for pid := range r.events {
		got, sent := r.all(pid, "got"), r.sent[pid]
		switch {
		case len(sent) > 1:
			r.t.Errorf("%s was signalled by drainit %d times: %v", pid, len(sent), sent)
		case len(got) < 2 || len(sent) == 0 || sent[0].rule == "the worker":
		case sent[0].at >= r.call:
			sum.twice.Add(1)
		case len(got) == 2 && len(r.all(pid, ownGroup)) > 0: // it has signalled itself
		case r.wasFirst(sent[0]), mksh.MatchString(r.text) && got[len(got)-1].at > sent[0].at+0.05:
			sum.byGroup.Add(1)
		default:
			r.t.Errorf("%s was signalled by drainit and by another: %v, %v", pid, sent, got)
		}
	}
	for _, pid := range r.jobs {
		r.checkJob(pid, sum)
	}
	for pid, kind := range r.without {
		sent := r.sent[pid]
		ended := len(sent) > 0 && sent[0].rule != "the worker" && sent[0].at < r.call &&
			len(r.all(pid, "drained")) == 0
		switch {
		case ended && kind == "reader":
			r.t.Errorf("%s, which would end by itself, was ended by drainit: %v", pid, sent)
		case ended: // that it was asked to stop by other means can't be known
			sum.ended.Add(1)
		}
	}
}

// checkJob checks one that was ready before the stop.
func (r *stopped) checkJob(pid string, sum *sums) {
	got, drained, sent := r.all(pid, "got"), r.all(pid, "drained"), r.sent[pid]
	sum.jobs.Add(1)
	if len(sent) > 0 && byCall.MatchString(sent[0].rule) {
		sum.late.Add(1)
		sum.note(r.why[pid])
	}
	switch {
	case len(got) == 0:
		r.t.Errorf("job %s was never signalled", pid)
	case len(drained) > 0:
	case got[0].at >= r.call: // it had a second or two, or was signalled by another, too
		sum.lost.Add(1)
	case len(got) == 1:
		r.t.Errorf("job %s was killed before it had drained: %v, %v", pid, sent, got)
	}
}

// wasFirst reports whether drainit has signalled a process before one signalled its group: in the same
// plan, or by the time in the log, which may be a moment late.
func (r *stopped) wasFirst(sent delivery) bool {
	return slices.ContainsFunc(r.groups, func(by groupSignal) bool {
		to := r.sent[by.pid]
		return by.at >= sent.at-0.002 || len(to) > 0 && to[0].rule == sent.rule
	})
}

// all are the events of a process that say this.
func (r *stopped) all(pid, what string) (these []event) {
	for _, e := range r.events[pid] {
		if e.what == what {
			these = append(these, e)
		}
	}
	return these
}

// sums count what became of the jobs of all trees.
type sums struct {
	jobs, late, twice, lost, byGroup, ended, worse atomic.Int64
	mu                                             sync.Mutex
	why                                            map[string]int // the late ones
}

// note notes why a job was not signalled before the calls.
func (s *sums) note(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == nil {
		s.why = make(map[string]int)
	}
	s.why[named.ReplaceAllString(why, "X")]++
}

func (s *sums) String() string {
	text := fmt.Sprintf("%d jobs, %d of them signalled by a call, %d lost in the last seconds; of all "+
		"processes %d signalled by a call and by another, "+
		"%d by drainit and then by one that signals its group, and %d servers ended that were asked to "+
		"stop by other means; "+
		"%d times tini -s or -g keeps a job that drainit lost as the page of limits says",
		s.jobs.Load(), s.late.Load(), s.lost.Load(), s.twice.Load(), s.byGroup.Load(),
		s.ended.Load(), s.worse.Load())
	for _, why := range slices.Sorted(maps.Keys(s.why)) {
		text += fmt.Sprintf("\n%5d %s", s.why[why], why)
	}
	return text
}
