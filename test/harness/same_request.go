package harness

import (
	"slices"
	"strings"
	"time"

	"drainit/internal/machine"
)

// PastTheSameRequest returns when one more stop signal is a request of its own: well past the
// 100 ms within which it is the same one, delivered twice. A drainit that others keep from the
// processor can't know when the second came: so it has to have done all there was to do before
// that time, and after it. Without an init it is each drainit of this machine that stops, of
// another test's, too, for one in a container is not known by any other name.
func PastTheSameRequest(of ...*Init) {
	var pids []int
	for _, p := range of {
		pids = append(pids, p.Pid())
	}
	pastTheSameRequest(pids)
}

// PastTheSameRequest is that of the drainit above a worker.
func (c *Console) PastTheSameRequest(worker int) {
	c.T.Helper()
	pastTheSameRequest([]int{c.Above(worker)})
}

func pastTheSameRequest(pids []int) {
	const (
		instant = time.Millisecond
		well    = machine.SameRequest + 50*time.Millisecond
		looks   = 30 * time.Millisecond // more than there is between two looks whether a stop signal waits
	)
	deadline, named := time.Now().Add(Patience), len(pids) > 0
	if !named {
		pids = slices.DeleteFunc(allPids(), func(pid int) bool { return !strings.HasPrefix(Comm(pid), "drainit:") })
	}
	awaitIdle(pids, instant, deadline) // the first one has come, and the title says so
	time.Sleep(well)
	if !named {
		pids = slices.DeleteFunc(pids, func(pid int) bool { return !slices.Contains([]string{"drainit:drain", "drainit:ended"}, Comm(pid)) })
	}
	awaitIdle(pids, looks, deadline)
}

// awaitIdle waits until each of these processes has been idle for so long, each at its own time.
func awaitIdle(pids []int, long time.Duration, deadline time.Time) {
	for _, pid := range pids {
		for !IsIdle(long, pid) && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
	}
}

// IsIdle reports whether no thread of some processes runs or waits for a processor, and none has
// for so long from now on. One that has ended is idle.
func IsIdle(long time.Duration, pids ...int) bool {
	ran := make(map[int]time.Duration)
	for _, pid := range pids {
		if ran[pid] = RunTime(pid); isRunnable(pid) {
			return false
		}
	}
	time.Sleep(long)
	return !slices.ContainsFunc(pids, func(pid int) bool { return isRunnable(pid) || RunTime(pid) != ran[pid] })
}

// isRunnable reports whether a thread of a process runs, waits for a processor, or for whoever
// traces it.
func isRunnable(pid int) bool {
	runnable, _ := sumOfTasks(pid, "stat", func(stat string) int {
		state, _, _ := strings.Cut(strings.TrimPrefix(stat[strings.LastIndexByte(stat, ')')+1:], " "), " ")
		if strings.Contains("Rt", state) {
			return 1
		}
		return 0
	})
	return runnable > 0
}
