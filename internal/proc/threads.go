package proc

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is how long a thread of drainit has run; 0 where it has ended.
func threadTime(tid int) time.Duration {
	const ofThread, ran = 4, 2 // CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED (linux/posix-timers.h)
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|ofThread|ran), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// SecondThread is the number of the oldest of drainit's threads beside the main one: one of
// the Go runtime's, which never ends. It is 0 where that can't be known.
func SecondThread() (second int) {
	tids, err := readPids("/proc/self/task")
	if checkProc() != nil || err != nil {
		return 0
	}
	for _, tid := range tids {
		if tid != os.Getpid() && (second == 0 || tid < second) {
			second = tid
		}
	}
	return second
}

// ThreadNames are the names of a process's threads, which every user may read. The error
// is that of open(2) or read(2).
func ThreadNames(pid int) (names []string, err error) {
	tids, err := readPids(procPath(pid, "task"))
	for _, tid := range tids {
		if b, err := readSmall(procPath(pid, threadFile(pid, tid, "comm"))); err == nil {
			names = append(names, strings.TrimSuffix(string(b), "\n"))
		}
	}
	return names, err
}
