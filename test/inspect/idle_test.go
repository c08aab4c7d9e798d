package inspect

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// idle are lives in which nothing happens to drainit any more.
var idle = map[string]func(t *testing.T) *harness.Init{
	"running": func(t *testing.T) *harness.Init {
		p := harness.Run(t, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
		p.WaitTitle("drainit:run")
		return p
	},
	"running, and was probed": func(t *testing.T) *harness.Init {
		p := harness.LaunchProbed(t, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
		for range 20 {
			p.WantProbes("200 running", "200 running")
		}
		return p.Init
	},
}

func TestIdleDrainitIsNotWokenUp(t *testing.T) {
	harness.Full(t)
	t.Parallel()
	for name, begin := range idle {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			time.Sleep(11 * time.Second) // its one look at the worker comes 10 s after the start
			wantAsleep(t, p.Pid())
			wantSmall(t, p.Pid())
			p.Signal(unix.SIGUSR1) // what it needs is there again
			p.WantExit(7)
		})
	}
}

// wantSmall checks that it has little memory. What it has of its own file, which is most of
// that, is checked by the size of the file.
func wantSmall(t *testing.T, pid int) {
	t.Helper()
	const most = 1500 // kB
	if harness.Raced {
		return
	}
	own := harness.StatusField(t, pid, "RssAnon")
	t.Logf("it has %d kB, %d of them its own", harness.StatusField(t, pid, "VmRSS"), own)
	if own > most {
		t.Errorf("it has %d kB of its own, want at most %d", own, most)
	}
}

// wantAsleep checks that a process sleeps all through a window of time, longer than any
// period in which it might look at something. The Go runtime wakes up once a minute.
func wantAsleep(t *testing.T, pid int) {
	t.Helper()
	const window, windows = 12 * time.Second, 3
	var seen []int
	for range windows {
		before := harness.WakeUps(t, pid)
		time.Sleep(window)
		seen = append(seen, harness.WakeUps(t, pid)-before)
		if seen[len(seen)-1] == 0 {
			return
		}
	}
	t.Errorf("woken up %v times in windows of %v", seen, window)
}
