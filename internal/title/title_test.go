package title

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/machine"
)

// What is published is read back, as far as it makes a difference in its phase.
func TestEachTitleIsReadBack(t *testing.T) {
	for p := machine.Starting; p <= machine.Done; p++ {
		for bits := range 24 {
			s := State{p, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits / 8}
			alive := s.WorkerAlive || p != machine.Draining && p != machine.Starting
			want := State{p, alive, s.WorkerStopped && p == machine.Running, s.QuietUnhandled && p == machine.Quiet, s.Unresumed}
			if p != machine.Quiet || s.QuietUnhandled {
				want.Unresumed = 0
			}
			title := Of(s)
			if got, ok := Parse(title); ok != (p != machine.Done) || ok && got != want || len(title) > 15 || !ok && title != "" {
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

// A stop is read back to a tenth of a second, whatever the signal, the uptime and the grace.
func TestEachStopIsReadBack(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	for sig := unix.Signal(0); sig <= 64; sig++ {
		for _, since := range []time.Duration{0, 99 * time.Millisecond, 100 * time.Millisecond, 3*time.Hour + 1234567890, 6 * year} {
			for _, grace := range []time.Duration{0, 50 * time.Millisecond, 26800 * time.Millisecond, 30 * time.Second, 7*day + 5*time.Second, machine.Forever} {
				s := Stop{sig, since, grace}
				got, ok := ParseStop(s.String())
				if s.Since = s.Since.Truncate(unit); grace != machine.Forever {
					s.Grace = grace.Truncate(unit)
				}
				if !ok || got != s || len(s.String()) > 15 {
					t.Errorf("%q is %+v, %v; want %+v", s, got, ok, s)
				}
			}
		}
	}
	for _, text := range []string{
		"", "drainit", Pause, "@", "15", "15@", "@1", "15@1+", "15+1", "15@-1", "15@1+-1", "-1@1", "128@1", "15@1+1+1", "15@ 1", "15@1@1", "15@zzzzzzzzzz",
	} {
		if s, ok := ParseStop(text); ok {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

// Whoever meets it in ps -L finds it in docs/operations.md.
func TestStopIsNamedAsTheDocsHaveIt(t *testing.T) {
	s := Stop{unix.SIGTERM, 29635200 * time.Second / 10, 35 * time.Second}
	runtime.LockOSThread() // which ends with the test
	SetThread(unix.Gettid(), s.String())
	if b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid())); err != nil || string(b) != "15@hn6o0+9q\n" {
		t.Errorf("%q, %v", b, err)
	}
	SetThread(0, s.String()) // names none, and says nothing
	for _, file := range []string{"../../docs/operations.md", "title.go"} {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), s.String()) {
			t.Errorf("%s has no %s, %v", file, s, err)
		}
	}
}

func FuzzParseStop(f *testing.F) {
	f.Add(Stop{15, time.Hour, time.Minute}.String())
	f.Add(Stop{0, 0, machine.Forever}.String())
	f.Add("15@hn6o0+-")
	f.Fuzz(func(t *testing.T, name string) {
		s, ok := ParseStop(name)
		if again, _ := ParseStop(s.String()); ok && (again != s || s.Since < 0 || s.Grace < 0) {
			t.Errorf("%q is %+v, which is %q", name, s, s)
		}
	})
}
