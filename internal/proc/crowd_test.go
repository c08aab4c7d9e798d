package proc

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// crowd is a process with so many children that sleep.
const crowd = `for (1 .. shift) { spawn { forever } } say "ready"; forever`

// A snapshot reads one file of each process, and more of few.
func TestSnapshotOfACrowdReadsOneFileOfEach(t *testing.T) {
	const children, ofTheOthers = 300, 50
	top, _ := family(t, 1, crowd, strconv.Itoa(children))
	var seen *Snapshot
	reads := readsOf(t, func() { seen = takeHere(t) })
	if below := len(seen.Descendants(top)); below != children {
		t.Errorf("%d processes below %d, want %d", below, top, children)
	}
	if most := seen.Size() + ofTheOthers; reads > most {
		t.Errorf("%d reads for %d processes, want at most %d", reads, seen.Size(), most)
	}
}

// takeHere takes the snapshot of a stop on the caller's thread.
func takeHere(t testing.TB) *Snapshot {
	t.Helper()
	all, err := new(reading).take(Want{Parents: os.Getpid(), Signals: []unix.Signal{unix.SIGTERM, unix.SIGTERM}, Until: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readsOf is how many read(2) and the like something makes on its thread.
func readsOf(t testing.TB, do func()) int {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := readsSoFar(t)
	do()
	return readsSoFar(t) - before - 1 // that of the count itself
}

func readsSoFar(t testing.TB) (n int) {
	t.Helper()
	b, err := readSmall("/proc/thread-self/io")
	if err != nil {
		skip(t, "needs /proc/PID/io")
	}
	_, rest, _ := strings.Cut(string(b), "\nsyscr: ")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func BenchmarkSnapshot(b *testing.B) {
	for _, children := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			family(b, 1, crowd, strconv.Itoa(children))
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var cpu time.Duration
			for b.Loop() {
				before := threadTime(b)
				takeHere(b)
				cpu += threadTime(b) - before
			}
			b.ReportMetric(float64(cpu.Milliseconds())/float64(b.N), "cpu-ms/op")
		})
	}
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
