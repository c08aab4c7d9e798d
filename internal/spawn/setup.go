package spawn

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/sigqueue"
	"drainit/reaper"
)

// ResetSignals gives the worker an empty mask, which it inherits from this
// thread, and default dispositions. Go resets in the child what it handles
// itself, which is all but 32 and 34 (runtime/signal_unix.go), and TTIN and TTOU as long as
// they are not subscribed to.
func ResetSignals() error {
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	for _, sig := range []unix.Signal{32, 34, unix.SIGTTIN, unix.SIGTTOU} {
		before, err := sigqueue.SetAction(sig, sigqueue.Default)
		if err == nil && before != sigqueue.Ignore && before != sigqueue.Default { // it is subscribed to
			_, err = sigqueue.SetAction(sig, before)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// WatchParent asks for sig when the parent, whose pid was read at the start,
// dies. It may have died before the asking (PR_SET_PDEATHSIG(2const)).
func WatchParent(parent int, sig unix.Signal) error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(sig), 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl PR_SET_PDEATHSIG", err)
	}
	if os.Getppid() != parent {
		return reaper.SignalSelf(sig)
	}
	return nil
}

// KeepSmall has the heap grow by a fifth, and not by as much again: that keeps PID 1
// small. GOGC and GOMEMLIMIT in the environment are meant for the worker.
func KeepSmall() {
	debug.SetGCPercent(20)
	debug.SetMemoryLimit(math.MaxInt64)
}

// Threads: one runs (package oneproc), one waits for timers, one blocks in the kernel with a
// line of the log, and one is about to sleep; and those that hang in reads of /proc.
const threadsBeside = 3 + proc.MostHung

// OpenTimers makes the Go runtime get now the descriptors of its timers, and end the program
// if it could not: not when there is a worker.
func OpenTimers() { time.AfterFunc(time.Hour, func() {}).Stop() }

// WarmRuntime makes the Go runtime get now the threads that it would get when it needs them,
// and end the program if it could not. A worker that fills the process table later must not
// take PID 1 with it. All of them sleep when it returns: one that was still on its way there
// would be one too few, and the next event would start another.
func WarmRuntime() {
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range threadsBeside {
		started.Add(1)
		ended.Go(func() {
			runtime.LockOSThread() // so that each waits on a thread of its own
			started.Done()
			<-release
			runtime.UnlockOSThread()
		})
	}
	started.Wait()
	close(release)
	ended.Wait()
}

// PreferWorker has the kernel's OOM killer take others before drainit, as far as that is
// permitted, once the worker has what drainit was given: without drainit the container ends,
// and its log and status say nothing. Below 0 takes CAP_SYS_RESOURCE; what was raised without
// that may be lowered to where it was, which mostly is 0 (proc_pid_oom_score_adj(5)).
func PreferWorker() {
	const file = "/proc/self/oom_score_adj"
	now, err := os.ReadFile(file)
	if err != nil || os.WriteFile(file, []byte("-999"), 0) == nil { // -1000 is not killed where that is the only way on
		return
	}
	if score, err := strconv.Atoi(strings.TrimSpace(string(now))); err == nil && score > 0 {
		_ = os.WriteFile(file, []byte("0"), 0)
	}
}

// Detach lets go of what drainit was given, once the worker has it: it pins no
// mount by its directory and holds no pipe open. Standard error stays, for the
// log, and PID 1's standard output, for programs that write to /proc/1/fd/1, as cron jobs
// in containers do. What fails here costs nothing but that, so nothing is reported.
func Detach() {
	_ = unix.Chdir("/")
	for _, fd := range inherited() {
		unix.Close(fd)
	}
	fds := []int{-1, -1}
	if fd, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0); err == nil {
		fds = []int{fd}
	} else if unix.Pipe2(fds, unix.O_CLOEXEC) != nil {
		return // neither /dev nor a descriptor to be had
	}
	std := []int{unix.Stdin, unix.Stdout}
	if os.Getpid() == 1 {
		std = std[:1]
	}
	for i, to := range std {
		for unix.Dup3(fds[i%len(fds)], to, 0) == unix.EINTR {
		}
	}
	for _, fd := range fds { // each once: the number may be another's by then
		unix.Close(fd)
	}
}

// inherited returns the descriptors from 3 up that came through drainit's own
// exec: those that would go through another one. Its own never do.
func inherited() []int {
	const probed = 1024 // where /proc/self/fd can't say
	fds, err := proc.Descriptors()
	if err != nil {
		for fd := range probed {
			fds = append(fds, fd)
		}
	}
	var open []int
	for _, fd := range fds {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			open = append(open, fd)
		}
	}
	return open
}

// TrimProgram takes what is mapped of the program's file out of drainit's memory: most of it
// is for the start alone, and counts for the OOM killer, which may take drainit before a
// worker that is smaller. What is used again comes from the kernel's cache, 16 pages at a time.
func TrimProgram() {
	all, err := proc.FileMappings()
	if err != nil {
		return
	}
	for _, m := range all {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.Start, m.End-m.Start, unix.MADV_DONTNEED)
	}
}
