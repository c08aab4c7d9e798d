package inspect

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness"
)

// Nothing happens to drainit any more, and it has been probed or not. It has little memory: what it has
// of its own file, which is most of that, is checked by the size of the file.
func TestIdleDrainitIsNotWokenUp(t *testing.T) {
	harness.Full(t)
	const most = 1500 // kB
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { l.Close() })
	accepts := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	probed := fmt.Sprint("127.0.0.1:", harness.ReservePort(t))
	for name, flags := range map[string][]string{
		"running":                  nil,
		"running, and was awaited": {"--ready-port", accepts},
		"running, and was probed":  {"--health-addr", probed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := harness.Run(t, harness.Launch{Args: append(flags, harness.EndsByUSR1()...)})
			p.WaitTitle("drainit:run")
			if slices.Contains(flags, probed) {
				for range 20 {
					harness.Probed{Init: p, Addr: probed}.WantProbes("200 running", "200 running")
				}
			}
			time.Sleep(11 * time.Second) // its one look at the worker comes 10 s after the start
			wantAsleep(t, p.Pid())
			own := harness.StatusField(t, p.Pid(), "RssAnon")
			t.Logf("it has %d kB, %d of them its own, and %d threads",
				harness.StatusField(t, p.Pid(), "VmRSS"), own, harness.StatusField(t, p.Pid(), "Threads"))
			if own > most && !harness.Raced {
				t.Errorf("it has %d kB of its own, want at most %d", own, most)
			}
			p.Signal(unix.SIGUSR1) // what it needs is there again
			p.WantExit(7)
		})
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
