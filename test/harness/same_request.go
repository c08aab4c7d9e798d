package harness

import (
	"strings"
	"time"
)

// PastTheSameRequest returns when one more stop signal is a request of its own: well past the
// 100 ms within which it is the same one, delivered twice. A drainit that others keep from the
// processor in that time can't know when the second came: it is given its time again.
func PastTheSameRequest() {
	const (
		enough   = 300 * time.Millisecond
		tolerate = 100 * time.Millisecond
		atMost   = 10
	)
	for range atMost {
		before := waitsOfDrainits()
		time.Sleep(enough)
		kept := false
		for pid, after := range waitsOfDrainits() {
			was, same := before[pid]
			kept = kept || same && after.sum-was.sum > tolerate || after.now
		}
		if !kept {
			return
		}
	}
}

// waits is for how long the threads of a process have waited for a processor, and whether one
// of them does now: it is in no sum yet.
type waits struct {
	sum time.Duration
	now bool
}

// waitsOfDrainits is of each drainit of this machine that has a title, by its pid: of another
// test's, too, for a container's is not known by any other name.
func waitsOfDrainits() map[int]waits {
	all := map[int]waits{}
	for _, pid := range allPids() {
		if !strings.HasPrefix(Comm(pid), "drainit:") {
			continue
		}
		runnable, _ := sumOfTasks(pid, "stat", func(stat string) int {
			return strings.Count(stat[strings.LastIndexByte(stat, ')')+1:], " R ")
		})
		all[pid] = waits{WaitedForCPU(pid), runnable > 0}
	}
	return all
}
