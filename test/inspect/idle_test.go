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
	"quiet": func(t *testing.T) *harness.Init {
		p := harness.Run(t, harness.Launch{NoPID1: true, Args: harness.EndsByUSR1()})
		p.WaitOut(`^ready`)
		p.Signal(unix.SIGTSTP)
		p.WaitOut(`^got SIGTSTP`)
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

// wantSmall checks that what only the start needs of the program is not in memory any longer.
func wantSmall(t *testing.T, pid int) {
	t.Helper()
	const most, mostOfFile = 3500, 2200 // kB; of the file the start takes 3000
	if harness.Raced {
		return
	}
	all, file := harness.StatusField(t, pid, "VmRSS"), harness.StatusField(t, pid, "RssFile")
	t.Logf("it has %d kB, %d of them of its file", all, file)
	if all > most || file > mostOfFile {
		t.Errorf("it has %d kB, %d of them of its file, want at most %d and %d", all, file, most, mostOfFile)
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
