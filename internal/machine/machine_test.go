package machine

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness/rows"
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
	"exit":  {Kind: WorkerExited},
	"child": {Kind: ChildExited},
	"empty": {Kind: NothingLeft},
	"tick":  {Kind: TimePassed},
}

// names are the actions in what a script leads to, and lines those that write one.
var (
	names = [...]string{
		SignalWorker: "signal", SignalOrphans: "orphans", LastCall: "last call", FinalCall: "final call",
		Inspect:     "inspect",
		QuietWorker: "quiet", ResumeWorker: "resume", KillTree: "kill", GiveUp: "give up",
	}
	lines = [...]string{
		DrainBegins: "say drain", WorkerEnded: "say exit", DelayOver: "say signalled",
		GraceBegins: "say stop", SameStop: "say same",
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

// play steps a new machine through a script, such as "0s start, 99ms TERM": the time is that since clock0.
// "1s took=5ms" is a snapshot, and "1s watched", "1s unwatched=acted" or "1s watched= again 5s" what it
// observed. "1s ready", "0s unready" and "1s again" are what else is noted. did is the last event's phase and
// actions.
func play(t *testing.T, cfg Config, script string) (m *Machine, did string) {
	t.Helper()
	m = New(cfg)
	m.Ready()
	for moment := range strings.SplitSeq(script, ", ") {
		at, word, _ := strings.Cut(moment, " ")
		word, given, _ := strings.Cut(word, "=")
		now := clock0.Add(duration(t, cmp.Or(at, "0s")))
		switch event, known := events[word]; {
		case moment == "":
		case word == "ready", word == "unready":
			m.ready = word == "ready"
			did = m.Phase().String()
		case word == "again":
			m.Resumed()
			did = m.Phase().String()
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
	return strings.TrimSpace(m.Phase().String() + ": " + strings.Join(words, ", "))
}

// Every phase × every event, half a second later. What is not named does nothing.
func TestEachPhaseAndEvent(t *testing.T) {
	does := make(map[string]map[string]string)
	for _, row := range rows.Read(t, "testdata/phases.tsv", 3) {
		if does[row[0]] == nil {
			does[row[0]] = make(map[string]string)
		}
		does[row[0]][row[1]] = row[2]
	}
	for into, does := range does {
		for _, word := range []string{"start", "TERM", "TSTP", "CONT", "exit", "child", "empty", "tick"} {
			m, _ := play(t, Config{Grace: time.Minute}, into)
			want := cmp.Or(does[word], m.Phase().String()+":")
			if got := step(m, clock0.Add(500*time.Millisecond), events[word]); got != want {
				t.Errorf("after %q, %s: %q, want %q", into, word, got, want)
			}
		}
	}
}

// configured is the configuration in a row of scripts.tsv.
func configured(t *testing.T, text string) Config {
	t.Helper()
	cfg := Config{Grace: time.Minute}
	for word := range strings.FieldsSeq(text) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "grace":
			if cfg.Grace = Forever; value != "forever" {
				cfg.Grace = duration(t, value)
			}
		case "delay":
			cfg.StopDelay = duration(t, value)
		case "limit":
			cfg.Limit = duration(t, value)
		case "ignored":
			cfg.SecondStopIgnored = true
		case "ends":
			cfg.EndsWithWorker = true
		default:
			t.Fatalf("unknown word %q", word)
		}
	}
	return cfg
}

// A snapshot follows each death, but not one each: the more one costs, the longer the next one waits.
func TestScripts(t *testing.T) {
	for _, row := range rows.Read(t, "testdata/scripts.tsv", 4) {
		m, got := play(t, configured(t, row[0]), row[1])
		what, _, _ := strings.Cut(row[2], " ")
		at, ok := m.Deadline()
		switch what {
		case "deadline":
		case "ends":
			at, ok = m.GraceEnd()
		case "snapshot":
			at = m.at(snapshotTimer)
		case "line":
			at = m.at(progressTimer)
		case "busy":
			at = m.BusyUntil()
		default:
			what = ""
		}
		if what != "" && ok {
			got = what + " " + at.Sub(clock0).String()
		} else if what != "" {
			got = what + " never"
		}
		if got != row[2] {
			t.Errorf("%s: %q %s: %q, want %q", row[3], row[0], row[1], got, row[2])
		}
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
