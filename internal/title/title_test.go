package title

import (
	"testing"

	"drainit/internal/phase"
)

// What is published is read back, but that Draining alone tells whether the worker lives.
func TestEachTitleIsReadBack(t *testing.T) {
	for p := phase.Starting; p <= phase.Done; p++ {
		for _, alive := range []bool{true, false} {
			title := Of(p, alive)
			titled := p >= phase.Running && p <= phase.Killing
			if (title != "") != titled || len(title) > 15 {
				t.Errorf("%v, worker alive %v: title %q", p, alive, title)
			}
			got, lives, ok := Parse(title)
			if ok != titled || titled && (got != p || lives != (alive || p != phase.Draining)) {
				t.Errorf("%q is %v, alive %v, %v; want %v, %v", title, got, lives, ok, p, alive)
			}
		}
	}
	for _, title := range []string{"", "drainit", "drainit:", "drainit:runs", "init"} {
		if p, _, ok := Parse(title); ok {
			t.Errorf("%q is %v", title, p)
		}
	}
}
