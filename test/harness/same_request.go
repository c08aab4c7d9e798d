package harness

import (
	"strings"
	"time"
)

// PastTheSameRequest returns when one more stop signal is a request of its own: well past the
// 100 ms within which it is the same one, delivered twice. A drainit that others keep from the
// processor in that time can't know when the second came: it is given its time again, at
// most four times.
func PastTheSameRequest() {
	const (
		enough   = 300 * time.Millisecond
		tolerate = 100 * time.Millisecond
	)
	for range 5 {
		before := waitsOfDrainits()
		time.Sleep(enough)
		kept := false
		for pid, now := range waitsOfDrainits() {
			was, same := before[pid]
			kept = kept || same && now.sum-was.sum > tolerate || now.isKept(pid)
		}
		if !kept {
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

// isKept reports whether a thread of the process still waits that did, and none has run.
func (w waits) isKept(pid int) bool {
	if !w.runnable {
		return false
	}
	time.Sleep(20 * time.Millisecond)
	now := waitsOf(pid)
	return now.runnable && now.ran == w.ran
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
