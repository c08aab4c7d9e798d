package machine

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// clock0 is when the tests of the machine begin; only differences matter.
var clock0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// events are the words of a script.
var events = map[string]Event{
	"start": {Kind: Started},
	"TERM":  {Kind: StopSignaled, Signal: unix.SIGTERM},
	"INT":   {Kind: StopSignaled, Signal: unix.SIGINT},
	"force": {Kind: StopSignaled, Signal: unix.SIGTERM, Forced: true},
	"TSTP":  {Kind: QuietSignaled, Signal: unix.SIGTSTP},
	"CONT":  {Kind: ResumeSignaled, Signal: unix.SIGCONT},
	"again": {Kind: Resumed},
	"USR1":  {Kind: OtherSignaled, Signal: unix.SIGUSR1},
	"exit":  {Kind: WorkerExited},
	"child": {Kind: ChildExited},
	"empty": {Kind: NothingLeft},
	"tick":  {Kind: TimePassed},
}

// names are the actions in what a script leads to, and lines those that write one.
var (
	names = [...]string{
		SignalWorker: "signal", SignalOrphans: "orphans", LastCall: "last call", FinalCall: "final call", Inspect: "inspect",
		QuietWorker: "quiet", ResumeWorker: "resume", PassThrough: "pass", KillTree: "kill", GiveUp: "give up",
	}
	lines = [...]string{
		DrainBegins: "say drain", WorkerEnded: "say exit", DelayOver: "say signalled", GraceBegins: "say stop", SameStop: "say same",
		StopIgnored: "say ignored", Progress: "say progress",
	}
)

// String is for scripts and failures.
func (a Action) String() string {
	word := names[a.Kind]
	if a.Kind == Say {
		word = lines[a.Line]
	}
	return strings.Join(strings.Fields(word+" "+string(a.Reason)+" "+unix.SignalName(a.Signal)), " ")
}

// play steps a new machine through a script, such as "0s start, 99ms TERM": the time is that since
// clock0. "1s took=5ms" is a snapshot, and "1s watched", "1s unwatched=acted" or "1s watched= again 5s" what it observed.
// did is the last event's phase and actions.
func play(t *testing.T, cfg Config, script string) (m *Machine, did string) {
	t.Helper()
	m = New(cfg)
	for moment := range strings.SplitSeq(script, ", ") {
		at, word, _ := strings.Cut(moment, " ")
		word, given, _ := strings.Cut(word, "=")
		now := clock0.Add(duration(t, cmp.Or(at, "0s")))
		switch event, known := events[word]; {
		case moment == "":
		case word == "took":
			m.SnapshotTook(now, duration(t, given))
		case word == "watched", word == "unwatched":
			acted, again, _ := strings.Cut(given, " again ")
			m.Observed(now, acted == "acted", duration(t, cmp.Or(again, "0s")), word == "watched")
		case known:
			did = step(m, now, event)
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return m, did
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func step(m *Machine, now time.Time, e Event) (did string) {
	var words []string
	for _, a := range m.Step(now, e) {
		words = append(words, a.String())
	}
	return m.Phase().String() + ": " + strings.Join(words, ", ")
}

// Every phase × every event, half a second later. What is not named does nothing.
func TestEachPhaseAndEvent(t *testing.T) {
	minute := Config{Grace: time.Minute}
	for into, does := range map[string]map[string]string{
		"": {"start": "running: ", "TERM": "done: "},
		"0s start": {
			"TERM": "draining: signal SIGTERM, say drain SIGTERM", "TSTP": "quiet: quiet", "CONT": "running: pass SIGCONT",
			"USR1": "running: pass SIGUSR1", "exit": "draining: say exit, orphans", "empty": "done: "},
		"0s start, 0s TSTP": { // a stop signal may be on its way behind CONT
			"TERM": "draining: signal SIGTERM, say drain SIGTERM", "TSTP": "quiet: quiet", "again": "running: ",
			"USR1": "quiet: pass SIGUSR1", "exit": "draining: say exit, orphans", "empty": "done: "},
		"0s start, 0s TERM": {
			"TERM": "killing: kill second_stop", "USR1": "draining: pass SIGUSR1", "exit": "draining: orphans", "empty": "done: "},
		"0s start, 0s exit": { // the second to exit is a successor
			"TERM": "draining: say stop SIGTERM", "USR1": "draining: pass SIGUSR1", "exit": "draining: orphans", "empty": "done: "},
		"0s start, 0s TERM, 0s force": {"empty": "done: ", "tick": "killing: kill"},
		"0s start, 0s empty":          {},
	} {
		for _, word := range []string{"start", "TERM", "TSTP", "CONT", "again", "USR1", "exit", "child", "empty", "tick"} {
			m, _ := play(t, minute, into)
			want, named := does[word]
			if !named {
				want = m.Phase().String() + ": "
			}
			if got := step(m, clock0.Add(500*time.Millisecond), events[word]); got != want {
				t.Errorf("after %q, %s: %q, want %q", into, word, got, want)
			}
		}
	}
}

func TestScripts(t *testing.T) {
	minute, none, forever := Config{Grace: time.Minute}, Config{}, Config{Grace: Forever}
	delayed := Config{Grace: time.Minute, StopDelay: 5 * time.Second}
	const killed = "killing: kill second_stop"
	for _, tt := range []struct {
		name         string
		cfg          Config
		script, want string
	}{
		{"a resume waits 50 ms", minute, "0s start, 0s TSTP, 1s CONT, 1049ms tick", "quiet: "},
		{"and no longer", minute, "0s start, 0s TSTP, 1s CONT, 1050ms tick", "quiet: resume"},
		{"what resumes ends quiet", minute, "0s start, 0s TSTP, 1s CONT, 1050ms tick, 1050ms again", "running: "},
		{"what does not, asks again", minute, "0s start, 0s TSTP, 1s CONT, 1050ms tick, 2s CONT, 2050ms tick", "quiet: resume"},
		{"it comes once", minute, "0s start, 0s TSTP, 1s CONT, 1050ms tick, 2s tick", "quiet: "},
		{"another CONT does not put it off", minute, "0s start, 0s TSTP, 1s CONT, 1030ms CONT, 1050ms tick", "quiet: resume"},
		{"it does not come after a stop", minute, "0s start, 0s TSTP, 1s CONT, 1040ms TERM, 1050ms tick", "draining: "},
		{"it does not come after a TSTP", minute, "0s start, 0s TSTP, 1s CONT, 1040ms TSTP, 1050ms tick", "quiet: "},
		{"it does not come after the worker's end", minute, "0s start, 0s TSTP, 1s CONT, 1040ms exit, 1050ms tick", "draining: "},

		{"the signal that came is sent", minute, "0s start, 0s INT", "draining: signal SIGINT, say drain SIGINT"},
		{"twice within 100 ms is one request", minute, "0s start, 0s TERM, 99ms INT", "draining: say same SIGINT"},
		{"the 100 ms count from the first", minute, "0s start, 0s TERM, 90ms TERM, 110ms TERM", killed},
		{"a second one after 100 ms forces", minute, "0s start, 0s TERM, 100ms TERM", killed},
		{"a second one is ignored", Config{Grace: time.Minute, SecondStopIgnored: true}, "0s start, 0s TERM, 1s TERM", "draining: say ignored SIGTERM"},
		{"drainit stop --force is not", Config{Grace: time.Minute, SecondStopIgnored: true}, "0s start, 0s TERM, 1s force", "killing: kill force"},
		{"drainit stop --force forces, however soon", minute, "0s start, 0s TERM, 0s force", "killing: kill force"},
		{"a grace of 0 kills at once", none, "0s start, 0s TERM", "killing: kill grace"},
		{"a grace of 0 kills what a worker leaves", none, "0s start, 0s exit", "killing: say exit, kill grace"},
		{"drainit ends with the worker", Config{Grace: time.Minute, EndsWithWorker: true}, "0s start, 0s exit", "killing: kill forward_worker"},
		{"in a drain, too", Config{Grace: time.Minute, EndsWithWorker: true}, "0s start, 0s TERM, 1s exit", "killing: kill forward_worker"},
		{"the second one after the worker exited forces", minute, "0s start, 0s exit, 1s TERM, 2s TERM", killed},
		{"a stop delay is quiet first", delayed, "0s start, 0s TERM", "draining: say drain SIGTERM, quiet"},
		{"and ends in the signal", delayed, "0s start, 0s INT, 5s tick", "draining: signal SIGINT, say signalled SIGINT, say progress"},
		{"it is none after quiet", delayed, "0s start, 0s TSTP, 0s TERM", "draining: signal SIGTERM, say drain SIGTERM"},
		{"a second stop signal in it forces", delayed, "0s start, 0s TERM, 1s TERM", killed},
		{"a worker that exits in it is not signalled", delayed, "0s start, 0s TERM, 1s exit, 4s tick", "draining: orphans"},

		{"the worker is inspected after 10 s", minute, "0s start, 10s tick", "running: inspect"},
		{"not before", minute, "0s start, 9s tick", "running: "},
		{"a quiet one as well", minute, "0s start, 0s TSTP, 10s tick", "quiet: inspect"},
		{"one that drains is not", minute, "0s start, 0s TERM, 11s tick", "draining: orphans, say progress"},

		{"the last call is in the last 10 s", minute, "0s start, 0s TERM, 50s tick", "draining: last call, say progress"},
		{"not before", minute, "0s start, 0s TERM, 49s tick", "draining: orphans, say progress"},
		{"and before a limit of the platform", Config{Grace: 35 * time.Second, Limit: 30 * time.Second}, "0s start, 0s TERM, 22500ms tick", "draining: last call, say progress"},
		{"the final call before the end of the grace period itself", Config{Grace: 35 * time.Second, Limit: 30 * time.Second}, "0s start, 0s TERM, 22500ms tick, 33s tick", "draining: final call, say progress"},
		{"not at that limit", Config{Grace: 35 * time.Second, Limit: 30 * time.Second}, "0s start, 0s TERM, 22500ms tick, 32s tick", "draining: last call, say progress"},
		{"unless that is later", Config{Grace: 12 * time.Second, Limit: 30 * time.Second}, "0s start, 0s TERM, 9s tick", "draining: last call, say progress"},
		{"in the last quarter of a short grace", Config{Grace: 12 * time.Second}, "0s start, 0s TERM, 9s tick", "draining: last call, say progress"},
		{"and not before", Config{Grace: 12 * time.Second}, "0s start, 0s TERM, 8s tick", "draining: orphans, say progress"},
		{"and for what comes then", minute, "0s start, 0s TERM, 55s tick, 56s tick", "draining: last call"},
		{"the final call is in the last 2 s", minute, "0s start, 0s TERM, 55s tick, 58s tick", "draining: final call"},
		{"in the last tenth of a short grace", Config{Grace: 12 * time.Second}, "0s start, 0s TERM, 9s tick, 10800ms tick", "draining: final call"},
		{"an infinite grace has no last seconds", forever, "0s start, 0s TERM, 1h tick", "draining: orphans, say progress"},
		{"a stop delay that ends in them leaves time for it", Config{Grace: 4 * time.Second, StopDelay: 3200 * time.Millisecond},
			"0s start, 0s TERM, 3s tick, 3200ms tick, 3300ms tick", "draining: last call"},

		{"the grace is over", Config{Grace: 10 * time.Second}, "0s start, 0s TERM, 10s tick", "killing: kill grace"},
		{"what outlives the kill by 5 s is left", Config{Grace: 10 * time.Second}, "0s start, 0s TERM, 10s tick, 15s tick", "done: give up"},
	} {
		if _, got := play(t, tt.cfg, tt.script); got != tt.want {
			t.Errorf("%s: %s: %q, want %q", tt.name, tt.script, got, tt.want)
		}
	}
}

func TestGraceEnds(t *testing.T) {
	for _, tt := range []struct {
		name       string
		grace      time.Duration
		script     string
		end        time.Duration
		isInfinite bool
	}{
		{"counts from the stop signal", 25 * time.Second, "0s start, 0s TSTP, 3s TERM", 28 * time.Second, false},
		{"infinite", Forever, "0s start, 0s TERM", 0, true},
		{"is the grace when the worker exited", 10 * time.Second, "0s start, 0s exit", 10 * time.Second, false},
		{"is 30 s at most then", Forever, "0s start, 0s exit", 30 * time.Second, false},
		{"begins anew at the first stop signal after that", time.Minute, "0s start, 0s exit, 20s TERM", 80 * time.Second, false},
		{"is infinite after that, if it is", Forever, "0s start, 0s exit, 20s TERM", 0, true},
		{"goes on when the worker exits", 10 * time.Second, "0s start, 0s TERM, 4s exit", 10 * time.Second, false},
		{"is not moved by the same request", 10 * time.Second, "0s start, 0s TERM, 50ms TERM", 10 * time.Second, false},
	} {
		m, _ := play(t, Config{Grace: tt.grace}, tt.script)
		if end, ok := m.GraceEnd(); ok == tt.isInfinite || ok && end.Sub(clock0) != tt.end {
			t.Errorf("%s: %v (%v), want %v", tt.name, end.Sub(clock0), ok, tt.end)
		}
	}
}

// Idle costs nothing: once the worker has been inspected, no deadline wakes drainit.
func TestNoDeadlineWithoutAStop(t *testing.T) {
	for _, script := range []string{"0s took=1s", "0s start, 10s tick", "0s start, 0s TSTP, 10s tick", "0s start, 0s empty"} {
		m, _ := play(t, Config{Grace: time.Minute, StopDelay: time.Second}, script)
		if at, ok := m.Deadline(); ok {
			t.Errorf("%s: a deadline at %v", script, at.Sub(clock0))
		}
	}
}

// A snapshot follows each death, but not one each: the more one costs, the longer the next one waits.
func TestNextSnapshotOfADrain(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		name, script string
		want         time.Duration
	}{
		{"after a second", "100ms exit", 1100 * ms},
		{"at the death of a child", "100ms exit, 100ms took=5ms, 101ms child", 102 * ms}, // 5 ms is not long yet
		{"after a long one", "100ms exit, 100ms took=6ms, 110ms child", 124 * ms},
		{"not put off by one death after the other", "100ms exit, 100ms took=6ms, 110ms child, 115ms child", 124 * ms},
		{"not paid for by a short one", "100ms exit, 100ms took=6ms, 110ms took=1ms, 110ms child", 124 * ms},
		{"a second after that", "100ms exit, 100ms took=6ms, 110ms child, 125ms tick", 1125 * ms},
		{"after a quick one", "1s tick, 1005ms took=5ms", 2000 * ms},
		{"after a slow one", "1s tick, 1500ms took=500ms", 3500 * ms},
		{"after a quick last call", "55s tick, 55005ms took=5ms", 55100 * ms},
		{"after a slow last call", "55s tick, 55500ms took=500ms", 57500 * ms},
		{"not watched", "1s tick, 1s unwatched", 2000 * ms},
		{"watched", "1s tick, 1s watched", 6000 * ms},
		{"not watched, in the last call", "55s tick, 55s unwatched", 55100 * ms},
		{"watched, in the last call", "55s tick, 55s watched", 56000 * ms},
		{"soon after a signal", "1s tick, 1s watched=acted", 1060 * ms},
		{"sooner where others died meanwhile", "1s tick, 1s watched=acted, 1059ms watched", 1060 * ms},
		{"then after a second", "1s tick, 1s watched=acted, 1060ms watched", 2060 * ms},
		{"the later, the longer none was sent", "1s tick, 1s watched=acted, 5s watched", 7000 * ms},
		{"each second where deaths are not watched", "1s tick, 1s unwatched=acted, 9s unwatched", 10000 * ms},
		{"when time alone may change something", "1s tick, 1s watched= again 3s", 4000 * ms},
		{"sooner in any case", "1s tick, 1s unwatched= again 3s", 2000 * ms},
		{"not before a long one is paid for", "0s took=200ms, 0s watched= again 100ms", 800 * ms},
		{"soon after a signal and a long one", "0s took=100ms, 0s watched=acted", 400 * ms},
		{"of an idle drain", "0s took=40ms, 0s watched", 5000 * ms},
		{"of an idle drain after a slow one", "0s took=200ms, 0s watched", 24000 * ms},
	} {
		m, _ := play(t, Config{Grace: time.Minute}, "0s start, 0s TERM, "+tt.script)
		if got := m.at(snapshotTimer).Sub(clock0); got != tt.want {
			t.Errorf("%s: the next is due at %v, want %v", tt.name, got, tt.want)
		}
	}
}

// A drain in which nothing happens takes less than a hundredth of the time, its lines of progress
// included, and a signal waits for no more than a fifth.
func TestCostOfASlowSnapshot(t *testing.T) {
	m, _ := play(t, Config{Grace: time.Minute}, "0s start, 0s TERM, 0s took=200ms, 0s watched")
	if line, busy := m.at(progressTimer).Sub(clock0), m.BusyUntil().Sub(clock0); line != 24*time.Second || busy != 800*time.Millisecond {
		t.Errorf("the line is due at %v, and signals wait until %v", line, busy)
	}
}

// A drain in which children die all the time says how far it is, however long snapshots take: the
// line costs none of its own then.
func TestProgressOfABusyDrain(t *testing.T) {
	m, _ := play(t, Config{Grace: time.Minute}, "0s start, 0s TERM")
	lines := 0
	for now := clock0; now.Before(clock0.Add(20 * time.Second)); now = now.Add(100 * time.Millisecond) {
		step(m, now, events["child"])
		did := step(m, now, events["tick"])
		if strings.Contains(did, "orphans") {
			m.SnapshotTook(now, 100*time.Millisecond)
		}
		lines += strings.Count(did, "say progress")
	}
	if lines != 3 {
		t.Errorf("%d lines in 20s, want 3", lines)
	}
}
