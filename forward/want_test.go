package forward

import (
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/signals"
)

// wants are what the plan of every situation needs to be seen, "" for nothing; whether
// there is a snapshot does not matter.
var wants = []struct{ purposes, modes, workers, want string }{
	{"stop", "auto, group", "any", "parents 1, chain 10, TERM, pipes"},
	{"stop", "worker", "alive", ""},
	{"stop", "worker", "gone, daemonized", "parents 1, TERM"},
	{"late orphans, late last call", "auto, group", "any", "parents 1, chain 10, TERM, pipes"},
	{"orphans", "auto, group", "any", "parents 1, TERM, pipes"},
	{"last call", "auto, group", "any", "parents 1, TERM, pipes, all 1"},
	{"late orphans, late last call, orphans, last call", "worker", "any", ""},
	{"quiet", "any", "alive", "enough 10, nearest 10, TSTP"},
	{"quiet", "any", "gone, daemonized", "nearest 1, TSTP"},
	{"resume", "any", "any", ""},
	{"HUP", "auto", "alive", "enough 10, nearest 10, HUP"},
	{"HUP", "group", "alive", "only 10"}, // in which group it is
	{"HUP", "worker", "alive", ""},
	{"TTIN", "auto", "alive", "enough 10, nearest 10, TTIN"},
	{"TTIN", "group", "alive", "group 10, TTIN"},
	{"TTIN", "worker", "alive", "only 10, TTIN"},
	{"HUP", "any", "daemonized", "nearest 1, HUP"},
	{"TTIN", "any", "daemonized", "nearest 1, TTIN"},
	{"HUP, TTIN", "any", "gone", ""},
}

func TestWantOfEverySituation(t *testing.T) {
	used := make([]bool, len(wants))
	for purpose := range purposes {
		for _, mode := range []Mode{ModeAuto, ModeGroup, ModeWorker} {
			for _, worker := range []string{"alive", "gone", "daemonized"} {
				s := situation{purpose: purpose, mode: mode, worker: worker}
				rows := s.wantRows()
				if len(rows) != 1 {
					t.Fatalf("%+v stands in the rows %v of the table, want one", s, rows)
				}
				used[rows[0]] = true
				l, r := s.before()
				if got, want := describeWant(l.Want(r, time.Time{})), wants[rows[0]].want; got != want {
					t.Errorf("%+v: %q, want %q", s, got, want)
				}
			}
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		t.Errorf("the row %+v is for no situation", wants[i])
	}
}

func (s situation) wantRows() (rows []int) {
	for i, row := range wants {
		if among(row.purposes, s.purpose) && among(row.modes, s.mode.String()) && among(row.workers, s.worker) {
			rows = append(rows, i)
		}
	}
	return rows
}

// describeWant writes what is wanted as the table has it.
func describeWant(w proc.Want, needed bool) string {
	if !needed {
		return ""
	}
	var words []string
	for _, of := range []struct {
		word string
		pid  int
	}{{"only", w.Only}, {"enough", w.EnoughIf}, {"parents", w.Parents}, {"chain", w.Chain}, {"nearest", w.Nearest}, {"group", w.Group}} {
		if of.pid != 0 {
			words = append(words, fmt.Sprintf("%s %d", of.word, of.pid))
		}
	}
	for _, sig := range w.Signals {
		words = append(words, strings.TrimPrefix(signals.Name(sig), "SIG"))
	}
	if w.ReadsPipe != nil {
		words = append(words, "pipes")
	}
	if w.Environment != nil {
		words = append(words, "environment")
	}
	for _, pid := range w.All {
		words = append(words, fmt.Sprint("all ", pid))
	}
	for _, pid := range w.Shells {
		words = append(words, fmt.Sprint("shell ", pid))
	}
	for _, id := range slices.SortedFunc(maps.Keys(w.Prove), func(a, b proc.ID) int { return a.PID - b.PID }) {
		words = append(words, fmt.Sprint("prove ", id.PID))
	}
	return strings.Join(words, ", ")
}

// What a stop was rewritten to may be handled by few: the others are sent TERM.
func TestAStopAsksForTERMBesideItsSignal(t *testing.T) {
	l := NewLedger(drainitPID)
	r := Request{Purpose: Stop, Signal: unix.SIGQUIT, Worker: Worker{PID: 10}}
	if got, want := describeWant(l.Want(r, time.Time{})), "parents 1, chain 10, QUIT, TERM, pipes"; got != want {
		t.Errorf("the first snapshot: %q, want %q", got, want)
	}
	l.Plan(r, machine(false))
	r.Purpose, r.Signal = Orphans, unix.SIGHUP // whatever came since
	if got, want := describeWant(l.Want(r, time.Time{})), "parents 1, QUIT, TERM, pipes"; got != want {
		t.Errorf("the second snapshot: %q, want %q", got, want)
	}
}

// A quiet signal, or any other, may come in the course of a stop.
func TestOtherSignalsAskForThemselvesDuringAStop(t *testing.T) {
	l := NewLedger(drainitPID)
	r := Request{Purpose: Stop, Signal: unix.SIGQUIT, Worker: Worker{PID: 10}}
	l.Plan(r, machine(false))
	for purpose, want := range map[Purpose]string{
		LastCall:    "parents 1, QUIT, TERM, pipes, all 1",
		Orphans:     "parents 1, QUIT, TERM, pipes",
		Quiet:       "enough 10, nearest 10, HUP",
		PassThrough: "enough 10, nearest 10, HUP",
		Stop:        "parents 1, chain 10, HUP, TERM, pipes",
	} {
		r.Purpose, r.Signal = purpose, unix.SIGHUP
		if got := describeWant(l.Want(r, time.Time{})); got != want {
			t.Errorf("purpose %d: %q, want %q", purpose, got, want)
		}
	}
}

func TestUntilIsHandedOn(t *testing.T) {
	until := time.Unix(1, 0)
	if w, _ := NewLedger(drainitPID).Want(term(Orphans), until); w.Until != until {
		t.Errorf("until %v, want %v", w.Until, until)
	}
}

// To find the other end of a pipe is costly: it is asked only of those that may be
// signalled, were it not for the pipe. It is asked of parents before their children.
func TestWhichProcessesMayReadAPipe(t *testing.T) {
	const termOnly, both = signals.Set(1 << (unix.SIGTERM - 1)), signals.Set(1<<(unix.SIGTERM-1) | 1<<(unix.SIGQUIT-1))
	tests := []struct {
		name string
		p    proc.Process
		want bool
	}{
		{"an orphan without a handler", shownAs("tee", 30, drainitPID, 30, 0), true},
		{"an orphan that handles TERM, where the stop signal is QUIT", shownAs("tee", 30, drainitPID, 30, termOnly), true},
		{"an orphan that handles both", shownAs("tee", 36, drainitPID, 36, both), true},
		{"a child of it", shownAs("tee", 31, 36, 36, both), false},
		{"an orphan without a handler, which passes nothing on", shownAs("sh", 32, drainitPID, 32, 0), true},
		{"a child of it, which may be signalled with it", shownAs("tee", 33, 32, 32, both), true},
		{"a child of another", shownAs("tee", 34, 10, 30, 0), false},
		{"the worker, which was signalled", shownAs("master", 10, drainitPID, 10, 0), false},
		{"a daemon from before the stop", shownAs("log", 22, drainitPID, 22, 0), true},
	}
	l := NewLedger(drainitPID)
	r := Request{Purpose: Stop, Signal: unix.SIGQUIT, Worker: Worker{PID: 10}}
	for _, d := range l.Plan(r, machine(false)) {
		l.Sent(d, 1000)
	}
	r.Purpose = Orphans
	w, _ := l.Want(r, time.Time{})
	for _, tt := range tests {
		if got := w.ReadsPipe(tt.p); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// The package that decides must not be able to act: what it imports of this module knows
// signals and reads /proc, and no more.
func TestWhatDecidesImportsNothingThatActs(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.Module.Path}} {{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(out)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "drainit "); ok {
			own = append(own, path)
		}
	}
	slices.Sort(own)
	if want := []string{"drainit/forward", "drainit/internal/proc", "drainit/internal/signals"}; !slices.Equal(own, want) {
		t.Errorf("it holds %v, want %v", own, want)
	}
}

// Whether a process reads a pipe matters of those with which a stop may begin, beside the
// worker, and of what is below those that die of the signal.
func TestOfWhichItIsAskedWhetherTheyReadAPipe(t *testing.T) {
	shown := kinfolk(kin{"dash", 10, 1}, kin{"app", 11, 10}, kin{"app", 12, 11}, kin{"app", 13, 1}, kin{"app", 14, 99})
	shown[3].PGID, shown[4].PGID = 13, 10
	for _, tt := range []struct {
		name   string
		mode   Mode
		worker Worker
		want   []int
	}{
		{"the worker lives", ModeAuto, Worker{PID: 10, PGID: 10}, []int{11}},
		{"it has gone", ModeAuto, Worker{PID: 10, PGID: 10, Gone: true}, []int{10, 11, 13}},
		{"its group", ModeGroup, Worker{PID: 10, PGID: 10}, []int{11, 12, 14}},
	} {
		w, _ := NewLedger(drainitPID).Want(Request{Purpose: Stop, Signal: unix.SIGTERM, Mode: tt.mode, Worker: tt.worker}, time.Time{})
		var got []int
		for _, p := range shown {
			if w.ReadsPipe(p) {
				got = append(got, p.PID)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: asked of %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Behind the first snapshot those are settled that were signalled; where something is to be
// proven of a process, it matters whether the nearest one above it that was signalled sleeps.
func TestWhatFollowingSnapshotsAsk(t *testing.T) {
	shown := kinfolk(kin{"app", 10, 1}, kin{"unknown", 11, 10}, kin{"app", 12, 11})
	l := NewLedger(drainitPID)
	sentAll(l, l.Plan(term(Stop), proc.New(shown).With(proc.Details{Evidence: map[int]proc.Evidence{12: {{}}}})))
	l.Died(11)
	r := term(Orphans)
	r.Tick = 1001
	w, _ := l.Want(r, time.Time{})
	if !w.Settled(shown[0].ID) || w.Settled(shown[2].ID) || w.Settled(proc.ID{PID: 99}) {
		t.Error("settled is not the worker alone")
	}
	if !slices.Equal(w.Asleep, []int{10}) {
		t.Errorf("of %v it matters whether they sleep, want the worker", w.Asleep)
	}
}

// Evidence is read of those that a first plan leaves to others, and stacks of shells with a trap.
func TestOfWhichEvidenceIsRead(t *testing.T) {
	for _, worker := range []string{"app", "dash", "bash"} {
		l := NewLedger(drainitPID)
		s := proc.New(kinfolk(kin{worker, 10, 1}, kin{"app", 11, 10}))
		w, needed := l.WantWitness(l.Plan(term(Stop), s), s, time.Time{})
		if shells := len(w.Shells) == 1; shells != (worker == "bash") {
			t.Errorf("below %s: stacks of %v", worker, w.Shells)
		}
		if !needed || len(w.Evidence) != 1 || w.Evidence[0].PID != 11 {
			t.Errorf("below %s: of %v, needed %v, want 11", worker, w.Evidence, needed)
		}
	}
}
