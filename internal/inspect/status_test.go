package inspect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// shown is what is reported of a drainit with a title and nothing below it, with this note of a stop.
func shown(text string, now time.Duration, wall time.Time, note string) report {
	d := &instance{drainit: drainit{Process: proc.Process{ID: proc.ID{PID: 7}, Comm: text, State: 'S'}}}
	d.is, _ = title.Parse(text)
	r := d.report(false, false)
	r.addStop(note, now, wall)
	return r
}

const begun = 100 * time.Second

// stopping is the note of such a stop.
func stopping(sig unix.Signal, grace time.Duration) string {
	return title.Stop{Signal: sig, Since: begun, Grace: grace}.String()
}

func TestStatus(t *testing.T) {
	const ago = 3200 * time.Millisecond
	const since = `"stopping_since":"2026-01-02T15:04:05.0Z"`
	wall := time.Date(2026, 1, 2, 16, 4, 8, 250e6, time.FixedZone("", 3600))
	for _, tt := range []struct {
		title  string
		ago    time.Duration
		note   string
		people string // with ", 0 processes below it"
		ready  int    // the exit status of --ready
		json   string // after the phase, with pid and processes
	}{
		{"drainit:startup", 0, "", "starting: drainit[7]", 1, `"ready":false,"worker_alive":true`},
		{"drainit:run", 0, "", "running: drainit[7]", 0, `"ready":true,"worker_alive":true`},
		{"drainit:stopped", 0, "", "running, but the worker is stopped: drainit[7]", 1,
			`"ready":false,"worker_alive":true,"worker_stopped":true`},
		{"drainit:quiet", 0, "", "quiet: drainit[7]", 1,
			`"ready":false,"worker_alive":true,"quiet_handled":true`},
		{"drainit:quiet!", 0, "", "quiet, and no CONT ends that: drainit[7]", 1,
			`"ready":false,"worker_alive":true,"quiet_handled":true`},
		{"drainit:quiet?", 0, "",
			"quiet, but no process handled that, and the worker still takes work: drainit[7]", 1,
			`"ready":false,"worker_alive":true,"quiet_handled":false`},
		{"drainit:drain", 0, "", "draining: drainit[7]", 1, `"ready":false,"worker_alive":true`},
		{"drainit:drain", ago, stopping(unix.SIGTERM, 30*time.Second),
			"draining: drainit[7], SIGTERM 3.2s ago, SIGKILL in 26.8s", 1,
			`"ready":false,"worker_alive":true,"stop_signal":"SIGTERM",` + since + `,"left_s":26.8`},
		{"drainit:drain", ago, stopping(unix.SIGINT, machine.Forever),
			"draining: drainit[7], SIGINT 3.2s ago", 1,
			`"ready":false,"worker_alive":true,"stop_signal":"SIGINT",` + since},
		{"drainit:drain", 40 * time.Second, stopping(37, 30*time.Second),
			"draining: drainit[7], SIGRTMIN+3 40.0s ago, SIGKILL in 0.0s", 1,
			`"ready":false,"worker_alive":true,"stop_signal":"SIGRTMIN+3",` +
				`"stopping_since":"2026-01-02T15:03:28.2Z","left_s":0`},
		{"drainit:ended", ago, stopping(0, 30*time.Second),
			"draining: drainit[7], the worker has ended, SIGKILL in 26.8s", 1,
			`"ready":false,"worker_alive":false,` + since + `,"left_s":26.8`},
		{"drainit:kill", ago, stopping(unix.SIGTERM, 30*time.Second),
			"killing: drainit[7], SIGTERM 3.2s ago", 1,
			`"ready":false,"worker_alive":true,"stop_signal":"SIGTERM",` + since},
	} {
		r := shown(tt.title, begun+tt.ago, wall, tt.note)
		if got := r.text(); got != tt.people+", 0 processes below it\n" {
			t.Errorf("%s, %s:\ngot  %swant %s", tt.title, tt.note, got, tt.people)
		}
		b, err := json.Marshal(r)
		if want := `{"phase":"` + r.Phase + `",` + tt.json + `,"pid":7,"processes":[]}`; err != nil ||
			string(b) != want {
			t.Errorf("%s, %s, %v:\ngot  %s\nwant %s", tt.title, tt.note, err, b, want)
		}
		var line strings.Builder
		d := &instance{stdout: &line}
		d.is, _ = title.Parse(tt.title)
		status := d.status(Request{Verb: VerbStatus, Ready: true})
		if word, _, _ := strings.Cut(tt.people, ":"); status != tt.ready || line.String() != word+"\n" {
			t.Errorf("%s, ready: %q, %d; want %d", tt.title, line.String(), status, tt.ready)
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
