package spawn

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/proc"
	"drainit/internal/sigqueue"
)

// SetUp is called before the fork. The Go runtime takes all that it would need later, and this thread, the
// locked main one, becomes what the worker is to inherit. Most signals are subscribed to after it: the
// runtime gives the worker the default action of each that is subscribed to. beside is how many threads the
// caller blocks later, in addition to the loop's: one for probes, and one that asks whether the worker is
// ready.
func SetUp(beside int) error {
	warmRuntime(threadsBeside + beside)
	// The worker inherits an empty mask from this thread, and default actions. The Go runtime resets in a
	// child what it handles itself, which is all but these (runtime/signal_unix.go).
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return os.NewSyscallError("rt_sigprocmask", err)
	}
	for _, sig := range []unix.Signal{32, 34, unix.SIGTTIN, unix.SIGTTOU} {
		if _, err := sigqueue.SetAction(sig, sigqueue.Default); err != nil {
			return err
		}
	}
	return nil
}

// FinishSetup is called after the fork, or before a pause: it does what the worker need not wait for. If one
// of its steps fails, only the benefit of that step is lost, so no failure is reported.
func FinishSetup() {
	// The heap grows by a fifth, and not by as much again. GOGC and GOMEMLIMIT in the environment are meant
	// for the worker.
	debug.SetGCPercent(20)
	debug.SetMemoryLimit(math.MaxInt64)
	// The kernel's OOM killer takes others before drainit, where CAP_SYS_RESOURCE permits that: without
	// drainit the container ends, and its log and status say nothing. At -1000 it would not kill drainit even
	// where nothing else can be killed (proc_pid_oom_score_adj(5)).
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-999"), 0)
	// The kernel queues no more than this of the real-time signals that come to drainit, and sigqueue(3)
	// fails with EAGAIN for one more. A thread takes all signals that are queued before its next instruction,
	// and the kernel looks for each in the whole queue (kernel/signal.c, collect_signal). 100,000 of them
	// would keep drainit from acting for minutes. A signal of kill(2) comes all the same, and so do all that
	// are not real-time signals.
	const most = 1024 // the user's timers count, too (timer_create(2))
	_ = unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{Cur: most, Max: most})
	detach()
}

// threadsBeside is how many threads there may be beside the one that runs (package oneproc): one waits for
// timers, one blocks in the kernel with a line of the log, one is about to sleep, and the others hang in
// reads of /proc.
const threadsBeside = 3 + proc.MostHung

// warmRuntime makes the Go runtime start threads, and open the descriptors of its timers, before it needs
// them. It would end the program if it could not get them then: a worker that fills the process table later
// must not take PID 1 with it. All of the threads sleep when it returns, or the next event would start
// another one.
func warmRuntime(threads int) {
	time.AfterFunc(time.Hour, func() {}).Stop()
	var started, ended sync.WaitGroup
	release := make(chan struct{})
	for range threads {
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

// detach lets go of what drainit was given: it pins no mount by its directory and holds no pipe
// open. Standard error stays, for the log, and PID 1's standard output, for cron jobs that write
// to /proc/1/fd/1.
func detach() {
	_ = unix.Chdir("/")
	closeInherited()
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil { // no /dev
		null, _ = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	}
	_ = unix.Dup3(null, unix.Stdin, 0)
	if os.Getpid() != 1 {
		_ = unix.Dup3(null, unix.Stdout, 0)
	}
	unix.Close(null)
}

// closeInherited closes the descriptors from 3 up that came through drainit's own exec. They are those
// without FD_CLOEXEC, which drainit's own descriptors always have.
func closeInherited() {
	fds, err := proc.Descriptors()
	for fd := 3; err != nil && fd < 1024; fd++ { // no /proc
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if fd > 2 && err == nil && flags&unix.FD_CLOEXEC == 0 {
			unix.Close(fd)
		}
	}
}
