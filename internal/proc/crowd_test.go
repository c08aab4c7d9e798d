package proc

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is a process with so many children that sleep.
const crowd = `for (1 .. shift) { spawn { forever } } say "ready"; forever`

// perProcess bounds the processor time that a snapshot takes for one process: 10,000
// within 300 ms. What other programs do meanwhile does not count.
const perProcess = 30 * time.Microsecond

func TestSnapshotOfACrowdIsCheap(t *testing.T) {
	const children = 2000
	top, _ := family(t, 1, crowd, strconv.Itoa(children))
	least := time.Hour
	for range 5 {
		seen, took := timedTake(t)
		if len(seen) < children {
			t.Fatalf("%d processes below %d", len(seen), top)
		}
		least = min(least, took)
	}
	// On a slower machine, or with the race detector, by what one file of each costs:
	// the snapshot reads one, and reads more of few.
	most := max(children*perProcess, 6*timeToReadStats(t))
	t.Logf("%v for %d processes, want at most %v", least, children, most)
	if least > most {
		t.Errorf("a snapshot of %d processes took %v, want at most %v", children, least, most)
	}
}

// timeToReadStats is what it costs to read one file of each process.
func timeToReadStats(t testing.TB) time.Duration {
	t.Helper()
	pids, err := readPids("/proc")
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime(t)
	for _, pid := range pids {
		_, _ = readSmall(procPath(pid, "stat"))
	}
	return threadTime(t) - before
}

func BenchmarkSnapshot(b *testing.B) {
	for _, children := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			family(b, 1, crowd, strconv.Itoa(children))
			var cpu time.Duration
			for b.Loop() {
				_, took := timedTake(b)
				cpu += took
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
}

// timedTake takes a snapshot of what is below this process, and the processor time of that.
func timedTake(t testing.TB) (below []*Process, took time.Duration) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := threadTime(t)
	all, err := takeBelow(time.Now(), unix.SIGTERM, unix.SIGTERM)
	if err != nil {
		t.Fatal(err)
	}
	took = threadTime(t) - before
	return all.Descendants(os.Getpid()), took
}

// threadTime is by a clock: what getrusage(2) tells may go by ticks of 4 ms.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}
