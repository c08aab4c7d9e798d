package title

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// What is published is read back, as far as it makes a difference in its phase.
func TestEachTitleIsReadBack(t *testing.T) {
	for p := machine.Starting; p <= machine.Done; p++ {
		for bits := range 4 * int(UnresumedToo+1) {
			s := State{p, bits&1 != 0, bits&2 != 0, Quiet(bits / 4)}
			alive := s.WorkerAlive || p != machine.Draining && p != machine.Starting
			want := State{p, alive, s.WorkerStopped && p == machine.Running, s.Quiet}
			if p != machine.Quiet {
				want.Quiet = Handled
			}
			title := Of(s)
			if got, ok := Parse(title); ok != (p != machine.Done) || ok && got != want || len(title) > 15 ||
				!ok && title != "" {
				t.Errorf("%+v: %q is %+v, %v; want %+v", s, title, got, ok, want)
			}
		}
	}
	for title, state := range titles {
		if Of(state) != title {
			t.Errorf("%q is the title of %+v, whose title is %q", title, state, Of(state))
		}
	}
	for _, title := range []string{"", "drainit", "drainit:", "drainit:runs", "init", Pause} {
		if s, ok := Parse(title); ok || len(title) > 15 {
			t.Errorf("%q is %+v", title, s)
		}
	}
}

// A stop is read back, whatever the signal, the uptime and the grace.
func TestEachStopIsReadBack(t *testing.T) {
	for _, sig := range []unix.Signal{0, unix.SIGTERM, 64} {
		for _, since := range []time.Duration{0, 99 * time.Millisecond, 6 * 365 * 24 * time.Hour} {
			for _, grace := range []time.Duration{0, 30 * time.Second, machine.Forever} {
				s := Stop{sig, unix.SIGTERM, since, grace}
				if got, ok := ParseStop(s.String()); !ok || got != s {
					t.Errorf("%q is %+v, %v; want %+v", s, got, ok, s)
				}
			}
		}
	}
	for _, text := range []string{"", "drainit", "15", "15 1", "15 1 1", "a 1 1 1"} {
		if s, ok := ParseStop(text); ok {
			t.Errorf("%q is %+v", text, s)
		}
	}
}
