package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// OtherThreadsSleep reports whether every thread of drainit but the calling one sleeps,
// or is stuck in the kernel. The errors are those of checkProc and of the reads.
func OtherThreadsSleep() (bool, error) {
	if err := checkProc(); err != nil {
		return false, err // the numbers of the threads are others, too
	}
	awake, err := anyOtherThread("/proc/self/task", unix.Gettid(), func(state byte) bool { return state == 'R' })
	return !awake && err == nil, err
}

// anyOtherThread reports whether a thread in a task folder of /proc, other than this
// one, is in such a state, and the first error of a look at one. One that has ended is in none.
func anyOtherThread(tasks string, than int, is func(state byte) bool) (found bool, failed error) {
	tids, err := readPids(tasks)
	if err != nil {
		return false, err
	}
	for _, tid := range tids {
		if tid == than {
			continue
		}
		var t Process
		b, err := readSmall(filepath.Join(tasks, strconv.Itoa(tid), "stat"))
		if err == nil {
			t, err = parseStat(b)
		}
		switch {
		case IsGone(err):
		case err != nil && failed == nil:
			failed = err
		case err == nil && is(t.State):
			return true, failed
		}
	}
	return false, failed
}

// otherThreads reads the threads of a leader in state Z.
func otherThreads(pid int) (t threads) {
	tasks := procPath(pid, "task")
	t.live, _ = anyOtherThread(tasks, pid, func(state byte) bool { return state != 'Z' && state != 'X' })
	t.stopped, _ = anyOtherThread(tasks, pid, func(state byte) bool { return state == 'T' })
	return t
}

// SecondThread is the number of the oldest of drainit's threads beside the main one: one of
// the Go runtime's, which never ends. It is 0 where that can't be told.
func SecondThread() int {
	tids, err := readPids("/proc/self/task")
	if checkProc() != nil || err != nil {
		return 0
	}
	tids = slices.DeleteFunc(tids, func(tid int) bool { return tid == os.Getpid() })
	if len(tids) == 0 {
		return 0
	}
	return slices.Min(tids)
}

// ThreadNames are the names of a process's threads, which every user may read. The error
// is that of open(2) or read(2).
func ThreadNames(pid int) (names []string, err error) {
	tids, err := readPids(procPath(pid, "task"))
	for _, tid := range tids {
		if b, err := readSmall(procPath(pid, threadPath(tid, "comm"))); err == nil {
			names = append(names, strings.TrimSuffix(string(b), "\n"))
		}
	}
	return names, err
}
