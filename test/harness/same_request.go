package harness

import (
	"strings"
	"time"
)

// PastTheSameRequest returns when one more stop signal is a request of its own: well past the
// 100 ms within which it is the same one, delivered twice. A drainit that others keep from the
// processor in that time can't know when the second came: it is given its time again, for 3 s
// at most, for a drain of 5 s prints a line of progress.
func PastTheSameRequest() {
	const (
		enough   = 300 * time.Millisecond
		tolerate = 100 * time.Millisecond
		atMost   = 3 * time.Second
	)
	for began := time.Now(); time.Since(began) < atMost; {
		before := waitsOfDrainits()
		time.Sleep(enough)
		if !isAnyKept(before, tolerate) {
			return
		}
	}
}

// waits is for how long the threads of a process have run and waited for a processor. A wait
// that has not ended is in no sum yet.
type waits struct {
	ran, sum time.Duration
	runnable bool
}

func waitsOf(pid int) waits {
	runnable, _ := sumOfTasks(pid, "stat", func(stat string) int {
		return strings.Count(stat[strings.LastIndexByte(stat, ')')+1:], " R ")
	})
	return waits{RunTime(pid), WaitedForCPU(pid), runnable > 0}
}

// isAnyKept reports whether one of these has waited for more than is tolerated since, or a
// thread of one still waits, and none has run.
func isAnyKept(before map[int]waits, tolerate time.Duration) bool {
	runnable := map[int]waits{}
	for pid, was := range before {
		now := waitsOf(pid)
		if now.sum-was.sum > tolerate {
			return true
		}
		if now.runnable {
			runnable[pid] = now
		}
	}
	if len(runnable) == 0 {
		return false
	}
	time.Sleep(20 * time.Millisecond)
	for pid, was := range runnable {
		if now := waitsOf(pid); now.runnable && now.ran == was.ran {
			return true
		}
	}
	return false
}

// waitsOfDrainits is of each drainit of this machine that has a title, by its pid: of another
// test's, too, for one in a container is not known by any other name.
func waitsOfDrainits() map[int]waits {
	all := map[int]waits{}
	for _, pid := range allPids() {
		if strings.HasPrefix(Comm(pid), "drainit:") {
			all[pid] = waitsOf(pid)
		}
	}
	return all
}
