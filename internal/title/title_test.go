package title

import (
	"testing"

	"drainit/internal/phase"
)

// What is published is read back, as far as it makes a difference in its phase.
func TestEachTitleIsReadBack(t *testing.T) {
	for p := phase.Starting; p <= phase.Done; p++ {
		for bits := range 8 {
			s := State{p, bits&1 != 0, bits&2 != 0, bits&4 != 0}
			want := State{p, s.WorkerAlive || p != phase.Draining, s.WorkerStopped && p == phase.Running, s.QuietUnhandled && p == phase.Quiet}
			title := Of(s)
			if titled := p != phase.Done; (title != "") != titled || len(title) > 15 {
				t.Errorf("%+v: title %q", s, title)
			}
			if got, ok := Parse(title); ok != (title != "") || ok && got != want {
				t.Errorf("%q is %+v, %v; want %+v", title, got, ok, want)
			}
		}
	}
	for _, title := range []string{"", "drainit", "drainit:", "drainit:runs", "init", Pause, Force(7)} {
		if s, ok := Parse(title); ok || len(title) > 15 {
			t.Errorf("%q is %+v", title, s)
		}
	}
}

func TestEachTitleIsThatOfItsState(t *testing.T) {
	for title, state := range titles {
		if Of(state) != title {
			t.Errorf("%q is the title of %+v, whose title is %q", title, state, Of(state))
		}
	}
}
