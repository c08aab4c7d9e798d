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

// shown is what is reported of a drainit with a title and nothing below it, with these names of
// threads.
func shown(text string, now time.Duration, wall time.Time, threads ...string) report {
	d := &instance{drainit: drainit{Process: proc.Process{ID: proc.ID{PID: 7}, Comm: text, State: 'S'}}}
	d.is, _ = title.Parse(text)
	r := d.report(false)
	r.addStop(threads, now, wall)
	return r
}

// begun is when the stops of a test began, after boot.
const begun = 100 * time.Second

// stopping is the name of a thread in such a stop.
func stopping(sig unix.Signal, grace time.Duration) string {
	return title.Stop{Signal: sig, Since: begun, Grace: grace}.String()
}

func TestStatusForPeople(t *testing.T) {
	const ago = 3200 * time.Millisecond
	for _, tt := range []struct {
		title  string
		ago    time.Duration
		thread string
		want   string // without "0 processes below it"
	}{
		{"drainit:run", 0, "drainit", "running: drainit[7], "},
		{"drainit:stopped", 0, "drainit", "running, but the worker is stopped: drainit[7], "},
		{"drainit:quiet", 0, "drainit", "quiet: drainit[7], "},
		{"drainit:quiet?", 0, "drainit", "quiet: drainit[7], "},
		{"drainit:drain", 0, "drainit", "draining: drainit[7], "},
		{"drainit:drain", ago, stopping(unix.SIGTERM, 30*time.Second), "draining: drainit[7], SIGTERM 3.2s ago, SIGKILL in 26.8s, "},
		{"drainit:drain", ago, stopping(unix.SIGINT, machine.Forever), "draining: drainit[7], SIGINT 3.2s ago, "},
		{"drainit:drain", 40 * time.Second, stopping(unix.SIGTERM, 30*time.Second), "draining: drainit[7], SIGTERM 40.0s ago, SIGKILL in 0.0s, "},
		{"drainit:ended", 0, "drainit", "draining: drainit[7], the worker has ended, "},
		{"drainit:ended", ago, stopping(0, 30*time.Second), "draining: drainit[7], the worker has ended, SIGKILL in 26.8s, "},
		{"drainit:ended", ago, stopping(0, machine.Forever), "draining: drainit[7], the worker has ended, "},
		{"drainit:ended", ago, stopping(37, time.Minute), "draining: drainit[7], the worker has ended, SIGRTMIN+3 3.2s ago, SIGKILL in 56.8s, "},
		{"drainit:kill", ago, stopping(unix.SIGTERM, 30*time.Second), "killing: drainit[7], SIGTERM 3.2s ago, "},
	} {
		if got := shown(tt.title, begun+tt.ago, time.Now(), tt.thread).text(); got != tt.want+"0 processes below it\n" {
			t.Errorf("%s, %s:\ngot  %swant %s", tt.title, tt.thread, got, tt.want)
		}
	}
}

func TestStatusForPrograms(t *testing.T) {
	wall := time.Date(2026, 1, 2, 16, 4, 8, 250e6, time.FixedZone("", 3600))
	const end = `,"pid":7,"processes":[]}`
	for _, tt := range []struct {
		title  string
		ago    time.Duration
		thread string
		want   string
	}{
		{"drainit:run", 0, "drainit", `{"phase":"running","ready":true,"worker_alive":true`},
		{"drainit:stopped", 0, "drainit", `{"phase":"running","ready":false,"worker_alive":true,"worker_stopped":true`},
		{"drainit:quiet", 0, "drainit", `{"phase":"quiet","ready":false,"worker_alive":true,"quiet_handled":true`},
		{"drainit:quiet?", 0, "drainit", `{"phase":"quiet","ready":false,"worker_alive":true,"quiet_handled":false`},
		{"drainit:drain", 0, "drainit", `{"phase":"draining","ready":false,"worker_alive":true`},
		{"drainit:drain", 3200 * time.Millisecond, stopping(unix.SIGTERM, 30*time.Second),
			`{"phase":"draining","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z","left_s":26.8`},
		{"drainit:drain", 3200 * time.Millisecond, stopping(unix.SIGTERM, machine.Forever),
			`{"phase":"draining","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z"`},
		{"drainit:ended", 30 * time.Second, stopping(0, 30*time.Second),
			`{"phase":"draining","ready":false,"worker_alive":false,"stopping_since":"2026-01-02T15:03:38.2Z","left_s":0`},
		{"drainit:kill", 3200 * time.Millisecond, stopping(unix.SIGTERM, 3*time.Second),
			`{"phase":"killing","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z"`},
	} {
		got, err := json.Marshal(shown(tt.title, begun+tt.ago, wall, tt.thread))
		if err != nil || string(got) != tt.want+end {
			t.Errorf("%s, %s, %v:\ngot  %s\nwant %s", tt.title, tt.thread, err, got, tt.want+end)
		}
	}
}

func TestOneLineOfReadiness(t *testing.T) {
	for text, want := range map[string]struct {
		line   string
		status int
	}{
		"drainit:run": {"running", 0}, "drainit:stopped": {"running, but the worker is stopped", 1}, "drainit:quiet": {"quiet", 1}, "drainit:quiet?": {"quiet", 1},
		"drainit:drain": {"draining", 1}, "drainit:ended": {"draining", 1}, "drainit:kill": {"killing", 1},
	} {
		var b strings.Builder
		d := &instance{stdout: &b}
		d.is, _ = title.Parse(text)
		if status := d.status(Request{Verb: VerbStatus, Ready: true}); status != want.status || b.String() != want.line+"\n" {
			t.Errorf("%s: %q, %d; want %+v", text, b.String(), status, want)
		}
	}
}

// A thread bears the name of the one that started it: the newest stop counts, but none of the
// future.
func TestNewestStop(t *testing.T) {
	name := func(since time.Duration, sig unix.Signal) string {
		return title.Stop{Signal: sig, Since: since, Grace: time.Minute}.String()
	}
	first, second, future := name(time.Minute, 0), name(time.Hour, unix.SIGTERM), name(3*time.Hour, unix.SIGINT)
	for _, names := range [][]string{
		{"drainit:drain", "drainit", second}, {first, second}, {second, first, first}, {future, second, "!"},
	} {
		if r := shown("drainit:drain", 2*time.Hour, time.Now(), names...); r.stopping != time.Hour || r.StopSignal != "SIGTERM" || *r.Left != 0 {
			t.Errorf("%q: %+v", names, r)
		}
	}
	if r := shown("drainit:drain", time.Hour, time.Now(), "drainit:drain", "", "drainit", future); r.StoppingSince != "" {
		t.Errorf("%+v", r)
	}
}
