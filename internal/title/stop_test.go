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
	for _, s := range []Stop{{64, 200 * year, time.Hour}, {64, 200 * year, machine.Forever}} {
		if len(s.String()) > 15 {
			t.Errorf("%+v is %q", s, s)
		}
	}
}

// Whoever meets it in ps -L finds it in docs/operations.md.
func TestStopAsTheDocsHaveIt(t *testing.T) {
	s := Stop{unix.SIGTERM, 29635200 * time.Second / 10, 30 * time.Second}
	if s.String() != "15@hn6o0+8c" {
		t.Errorf("%q", s)
	}
	for _, file := range []string{"../../docs/operations.md", "title.go"} {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), s.String()) {
			t.Errorf("%s has no %s, %v", file, s, err)
		}
	}
}

func TestNamesOfOtherThreadsAreNoStops(t *testing.T) {
	for _, text := range []string{
		"", "drainit", "drainit:run", Pause, "@", "15", "15@", "@1", "@1+1", "15@1+", "15+1", "15@-1", "15@1+-1", "-1@1", "128@1", "15@1+1+1", "15@ 1", "15@1@1", "15@zzzzzzzzzz",
	} {
		if s, ok := ParseStop(text); ok {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

func TestSetStopNamesTheThread(t *testing.T) {
	runtime.LockOSThread() // which ends with the test
	s := Stop{unix.SIGTERM, 5 * time.Second, 30 * time.Second}
	SetStop(unix.Gettid(), s)
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/comm", unix.Gettid()))
	if err != nil || string(b) != s.String()+"\n" {
		t.Errorf("%q, %v; want %q", b, err, s)
	}
	SetStop(0, s) // names none, and says nothing
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
