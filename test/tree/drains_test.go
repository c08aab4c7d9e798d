package tree

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

var rehearsed = flag.Int("rehearsed", 0, "rehearse the stop of so many random trees, and stop them with their jobs in hand")

// Random trees have the verdict of drainit plan, at rest, and are then stopped with jobs of 8 s that run all the time.
// Where the verdict is that it drains, each job is signalled once, in time, and drains.
//
//	go test ./test/tree -run RandomTreesThatDrain -v -rehearsed 200 [-seed N]
func TestRandomTreesThatDrain(t *testing.T) {
	harness.Full(t)
	harness.Need(t, "perl", "bash", "dash", "timeout", "setsid")
	t.Parallel()
	first, number := max(*seed, 1), *rehearsed
	if number == 0 {
		number = 16
	}
	var all sync.WaitGroup
	var drain, missed atomic.Int64
	atOnce := make(chan bool, 16) // they mostly sleep
	for i := range uint64(number) {
		atOnce <- true
		all.Go(func() {
			defer func() { <-atOnce }()
			verdict, reasons := rehearse(t, first+i)
			r, kept := stopBusy(t, first+i)
			switch {
			case verdict == "drains" && !kept:
				t.Errorf("-seed %d -rehearsed 1: the verdict is drains\n%s\nrecord:\n%s\nlog:\n%s", first+i, r.text, r.record, r.log)
			case verdict == "drains":
				drain.Add(1)
			case kept:
				missed.Add(1)
				t.Logf("seed %d is kept, %s: %s\n%s", first+i, verdict, reasons, r.text)
			}
		})
	}
	all.Wait()
	t.Logf("%d trees, -seed %d: %d drain by their verdict, and %d others keep their jobs", number, first, drain.Load(), missed.Load())
}

// rehearse is the verdict on a tree, with its reasons.
func rehearse(t *testing.T, seed uint64) (verdict, reasons string) {
	dir := newTree(t)
	command, _ := grow(t, seed, dir)
	r := harness.RunToEnd(t, harness.Launch{Dir: dir, Args: harness.Line([]string{"plan", "--json", "--settle=3s"}, command...)})
	var said struct {
		Verdict string
		Reasons []struct{ Comm, Why string }
	}
	if err := json.Unmarshal([]byte(r.Out), &said); err != nil {
		t.Errorf("%v: %+v", err, r)
	}
	for _, reason := range said.Reasons {
		reasons += reason.Comm + " " + reason.Why + "; "
	}
	return said.Verdict, reasons
}

// stopBusy stops a tree with its jobs in hand, and reports whether each was signalled once, in time, and has drained.
func stopBusy(t *testing.T, seed uint64) (r *stopped, kept bool) {
	const inTime = 1.5
	dir := newTree(t)
	command, text := grow(t, seed, dir)
	r = &stopped{t: t, seed: seed, text: text, events: make(map[string][]event), without: make(map[string]string), why: make(map[string]string), sent: make(map[string][]delivery)}
	read := func() string { return harness.TextOf(t, filepath.Join(dir, "record")) }
	p := harness.Run(t, harness.Launch{Dir: dir, Env: []string{"WORK=8000", "RHYTHM=busy"}, Args: harness.Line([]string{"-v", "--log-format=json"}, command...)})
	p.WaitTitle("drainit:run")
	jobs := strings.Count(text, ": job,")
	harness.WaitUntil(t, "the jobs are ready", func() bool { return strings.Count(read(), " ready job") == jobs || !p.Running() })
	p.WaitStarted(time.Second)
	r.before = read()
	asked := float64(time.Now().UnixMicro()) / 1e6
	p.Signal(unix.SIGTERM)
	p.Wait()
	r.log, r.record = p.Err(), read()
	r.parse()
	kept = true
	for _, pid := range r.jobs {
		got := r.all(pid, "got")
		kept = kept && len(got) == 1 && got[0].at <= asked+inTime && len(r.all(pid, "drained")) == 1
	}
	return r, kept && len(r.jobs) > 0
}

// newTree is a folder for a tree.
func newTree(t *testing.T) string {
	dir := t.TempDir()
	harness.WriteFile(t, filepath.Join(dir, "member.pl"), harness.TextOf(t, "testdata/forest/member.pl"))
	harness.WriteFile(t, filepath.Join(dir, "record"), "")
	return dir
}
