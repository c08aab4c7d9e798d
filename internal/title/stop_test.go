package title

import (
	"fmt"
	"math"
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
	const week, years = 7 * 24 * time.Hour, 200 * 365 * 24 * time.Hour
	for sig := unix.Signal(0); sig <= 64; sig++ {
		for _, since := range []time.Duration{0, 99 * time.Millisecond, 100 * time.Millisecond, 3*time.Hour + 1234567890, years} {
			for _, grace := range []time.Duration{0, 50 * time.Millisecond, 26800 * time.Millisecond, 30 * time.Second, week + 5*time.Second, machine.Forever} {
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
}

// What does not fit is the nearest that does: a name is never cut.
func TestStopThatDoesNotFit(t *testing.T) {
	for _, s := range []Stop{{15, math.MaxInt64, math.MaxInt64 - 1}, {15, -1, -1}, {200, 0, 0}} {
		if name := s.String(); len(name) != 15 {
			t.Errorf("%+v is %q", s, name)
		}
	}
}

func TestNamesOfOtherThreadsAreNoStops(t *testing.T) {
	name := Stop{15, time.Hour, time.Minute}.String()
	for _, text := range []string{
		"", "drainit", "drainit:run", Pause, "!", "!0f", name[1:], name[:14], name + "0", "!zz" + name[3:], "!1t" + name[3:], "!0f" + "+0000" + name[8:],
		"!0f" + "----0" + name[8:], name[:8] + "-000001", strings.ReplaceAll(name, "0", " "),
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
	SetStop(-1, s) // names none, and says nothing
}

func FuzzParseStop(f *testing.F) {
	f.Add(Stop{15, time.Hour, time.Minute}.String())
	f.Add(Stop{0, 0, machine.Forever}.String())
	f.Add("!0f00000-------")
	f.Fuzz(func(t *testing.T, name string) {
		if s, ok := ParseStop(name); ok && (!strings.EqualFold(s.String(), name) || s.Signal > 64 || s.Since < 0 || s.Grace < 0) {
			t.Errorf("%q is %+v, which is %q", name, s, s)
		}
	})
}
