package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/signals"
	"drainit/internal/title"
	"drainit/test/harness/rows"
)

// shown is what is reported of a drainit with a title and nothing below it, with this note of a stop.
func shown(text string, now time.Duration, wall time.Time, note string) report {
	d := &instance{drainit: drainit{Process: proc.Process{ID: proc.ID{PID: 7}, Comm: text, State: 'S'}}}
	d.is, _ = title.Parse(text)
	r := d.report(false, false)
	r.addStop(note, now, wall)
	return r
}

// stopping is the note of a stop that began 100 s after the start of the machine, "" of none.
func stopping(sig, grace string) string {
	if grace == "" {
		return ""
	}
	stop := title.Stop{Since: begun, Grace: machine.Forever}
	if sig != "none" {
		stop.Signal = known(signals.Parse(sig))
	}
	if grace != "forever" {
		stop.Grace = known(time.ParseDuration(grace))
	}
	return stop.String()
}

const begun = 100 * time.Second

func TestStatus(t *testing.T) {
	wall := time.Date(2026, 1, 2, 16, 4, 8, 250e6, time.FixedZone("", 3600))
	for _, row := range rows.Read(t, "testdata/status.tsv", 6) {
		people, ready := row[4], strings.HasPrefix(row[5], `"ready":true`)
		r := shown(row[0], begun+known(time.ParseDuration(row[1])), wall, stopping(row[2], row[3]))
		if got := r.text(); got != people+", 0 processes below it\n" {
			t.Errorf("%q:\ngot  %swant %s", row, got, people)
		}
		b, err := json.Marshal(r)
		if want := `{"phase":"` + r.Phase + `",` + row[5] + `,"pid":7,"processes":[]}`; err != nil ||
			string(b) != want {
			t.Errorf("%q, %v:\ngot  %s\nwant %s", row, err, b, want)
		}
		var line strings.Builder
		d := &instance{stdout: &line}
		d.is, _ = title.Parse(row[0])
		status := d.status(Request{Verb: VerbStatus, Ready: true})
		if word, _, _ := strings.Cut(people, ":"); (status == 0) != ready || status > 1 ||
			line.String() != word+"\n" {
			t.Errorf("%s, ready: %q, %d; want %v", row[0], line.String(), status, ready)
		}
	}
}

// Where more than three processes hang, not all can be read.
func TestStatusOfProcessesThatCannotBeRead(t *testing.T) {
	r := shown("drainit:run", 0, time.Now(), "")
	r.Partial = true
	if got := r.text(); got != "running: drainit[7], at least 0 processes below it\n" {
		t.Error(got)
	}
}

// What is no stop, or one of the future, is not shown.
func TestUnknownStop(t *testing.T) {
	for _, name := range []string{
		"", "!", "15 1", title.Stop{Signal: unix.SIGINT, Since: 3 * time.Hour, Grace: time.Minute}.String()} {
		if r := shown("drainit:drain", time.Hour, time.Now(), name); r.StoppingSince != "" ||
			r.TimeLeft != nil {
			t.Errorf("%q: %+v", name, r)
		}
	}
}
