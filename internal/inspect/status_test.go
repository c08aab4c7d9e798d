package inspect

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
	"drainit/internal/proc"
	"drainit/internal/title"
)

// titled is a drainit with a title and nothing below it.
func titled(text string) *instance {
	return &instance{Process: proc.Process{ID: proc.ID{PID: 7}, Comm: text, State: 'S'}}
}

// after is a stop that began 100 s after boot, so long ago.
func after(ago time.Duration, sig unix.Signal, grace time.Duration) stopping {
	const since = 100 * time.Second
	return stopping{title.Stop{Signal: sig, Since: since, Grace: grace}, true, since + ago}
}

func TestStatusForPeople(t *testing.T) {
	const ago = 3200 * time.Millisecond
	for _, tt := range []struct {
		title string
		stop  stopping
		want  string // without "0 processes below it"
	}{
		{"drainit:run", stopping{}, "running: drainit[7], "},
		{"drainit:stopped", stopping{}, "running, but the worker is stopped: drainit[7], "},
		{"drainit:quiet", stopping{}, "quiet: drainit[7], "},
		{"drainit:quiet?", stopping{}, "quiet: drainit[7], "},
		{"drainit:drain", stopping{}, "draining: drainit[7], "},
		{"drainit:drain", after(ago, unix.SIGTERM, 30*time.Second), "draining: drainit[7], SIGTERM 3.2s ago, SIGKILL in 26.8s, "},
		{"drainit:drain", after(ago, unix.SIGINT, machine.Forever), "draining: drainit[7], SIGINT 3.2s ago, "},
		{"drainit:drain", after(40*time.Second, unix.SIGTERM, 30*time.Second), "draining: drainit[7], SIGTERM 40.0s ago, SIGKILL in 0.0s, "},
		{"drainit:ended", stopping{}, "draining: drainit[7], the worker has ended, "},
		{"drainit:ended", after(ago, 0, 30*time.Second), "draining: drainit[7], the worker has ended, SIGKILL in 26.8s, "},
		{"drainit:ended", after(ago, 0, machine.Forever), "draining: drainit[7], the worker has ended, "},
		{"drainit:ended", after(ago, 37, time.Minute), "draining: drainit[7], the worker has ended, SIGRTMIN+3 3.2s ago, SIGKILL in 56.8s, "},
		{"drainit:kill", after(ago, unix.SIGTERM, 30*time.Second), "killing: drainit[7], SIGTERM 3.2s ago, "},
	} {
		if got := titled(tt.title).text(tt.stop); got != tt.want+"0 processes below it\n" {
			t.Errorf("%s, %+v:\ngot  %swant %s", tt.title, tt.stop, got, tt.want)
		}
	}
}

func TestStatusForPrograms(t *testing.T) {
	wall := time.Date(2026, 1, 2, 16, 4, 8, 250e6, time.FixedZone("", 3600))
	const end = `,"pid":7,"processes":[]}` + "\n"
	for _, tt := range []struct {
		title string
		stop  stopping
		want  string
	}{
		{"drainit:run", stopping{}, `{"phase":"running","ready":true,"worker_alive":true`},
		{"drainit:stopped", stopping{}, `{"phase":"running","ready":false,"worker_alive":true,"worker_stopped":true`},
		{"drainit:quiet", stopping{}, `{"phase":"quiet","ready":false,"worker_alive":true,"quiet_handled":true`},
		{"drainit:quiet?", stopping{}, `{"phase":"quiet","ready":false,"worker_alive":true,"quiet_handled":false`},
		{"drainit:drain", stopping{}, `{"phase":"draining","ready":false,"worker_alive":true`},
		{"drainit:drain", after(3200*time.Millisecond, unix.SIGTERM, 30*time.Second),
			`{"phase":"draining","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z","left_s":26.8`},
		{"drainit:drain", after(3200*time.Millisecond, unix.SIGTERM, machine.Forever),
			`{"phase":"draining","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z"`},
		{"drainit:ended", after(30*time.Second, 0, 30*time.Second),
			`{"phase":"draining","ready":false,"worker_alive":false,"stopping_since":"2026-01-02T15:03:38.2Z","left_s":0`},
		{"drainit:kill", after(3200*time.Millisecond, unix.SIGTERM, 3*time.Second),
			`{"phase":"killing","ready":false,"worker_alive":true,"stop_signal":"SIGTERM","stopping_since":"2026-01-02T15:04:05.0Z"`},
	} {
		if got := titled(tt.title).json(tt.stop, wall); got != tt.want+end {
			t.Errorf("%s, %+v:\ngot  %swant %s", tt.title, tt.stop, got, tt.want+end)
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
		if status, err := titled(text).printStatus(&b, Request{Verb: VerbStatus, Ready: true}); status != want.status || err != nil || b.String() != want.line+"\n" {
			t.Errorf("%s: %q, %d, %v; want %+v", text, b.String(), status, err, want)
		}
	}
}

// A thread bears the name of the one that started it: what is newer counts, and what is to
// come is none of this drainit's.
func TestNewestStop(t *testing.T) {
	name := func(since time.Duration, sig unix.Signal) string {
		return title.Stop{Signal: sig, Since: since, Grace: time.Minute}.String()
	}
	first, second, future := name(time.Minute, 0), name(time.Hour, unix.SIGTERM), name(3*time.Hour, unix.SIGINT)
	for _, names := range [][]string{
		{"drainit:drain", "drainit", second}, {first, second}, {second, first, first}, {future, second, "!"},
	} {
		s := newestStop(names, 2*time.Hour)
		if want := (title.Stop{Signal: unix.SIGTERM, Since: time.Hour, Grace: time.Minute}); !s.known || s.Stop != want || s.ago() != time.Hour {
			t.Errorf("%q: %+v", names, s)
		}
	}
	if s := newestStop([]string{"drainit:drain", "", "drainit", future}, time.Hour); s.known {
		t.Errorf("%+v", s)
	}
}
