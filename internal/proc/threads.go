package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// otherThreadsIn are the threads in a task folder of /proc, other than this one, that are in
// such a state, and the first error of a look at one. One that has ended is in none.
func otherThreadsIn(tasks string, than int, is func(state byte) bool) (found []int, failed error) {
	tids, err := readPids(tasks)
	if err != nil {
		return nil, err
	}
	for _, tid := range tids {
		if tid == than {
			continue
		}
		var t Process
		b, err := readSmall(filepath.Join(tasks, strconv.Itoa(tid), "stat"))
		if err == nil {
			t, err = parseStat(b, "")
		}
		switch {
		case IsGone(err):
		case err != nil && failed == nil:
			failed = err
		case err == nil && is(t.State):
			found = append(found, tid)
		}
	}
	return found, failed
}

// otherThreads reads the threads of a leader in state Z.
func otherThreads(pid int) (t threads) {
	any := func(is func(state byte) bool) bool {
		found, _ := otherThreadsIn(procPath(pid, "task"), pid, is)
		return len(found) > 0
	}
	t.live = any(func(state byte) bool { return state != 'Z' && state != 'X' })
	t.stopped = any(func(state byte) bool { return state == 'T' })
	return t
}

// ThreadTime is how long a thread of drainit has run; 0 where it has ended.
func ThreadTime(tid int) time.Duration {
	const ofThread, ran = 4, 2 // CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED (linux/posix-timers.h)
	var ts unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|ofThread|ran), &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

// ownThreads are the numbers of drainit's threads, the oldest first; none where /proc does not
// show them.
func ownThreads() []int {
	tids, err := readPids("/proc/self/task")
	if checkProc() != nil || err != nil {
		return nil
	}
	return tids
}

// SecondThread is the number of the oldest of drainit's threads beside the main one: one of
// the Go runtime's, which never ends. It is 0 where that can't be known.
func SecondThread() (second int) {
	for _, tid := range ownThreads() {
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
