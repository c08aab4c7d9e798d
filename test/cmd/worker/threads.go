package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// sigwait blocks a signal in every thread, has no handler for it and waits for
// it by signalfd(2), over and over: it prints a line for each, "got SIGTSTP". Each thread of a
// Go program inherits the mask that it was started with.
//
//	worker sigwait TSTP
func sigwait(args []string) error {
	set, err := oneSignal(args)
	if err != nil {
		return err
	}
	const blocked = "SIGWAIT_BLOCKED"
	if os.Getenv(blocked) == "" {
		runtime.LockOSThread()
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
			return err
		}
		return syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), blocked+"=1"))
	}
	fd, err := unix.Signalfd(-1, &set, unix.SFD_CLOEXEC)
	if err != nil {
		return err
	}
	fmt.Println("ready", os.Getpid())
	for {
		var info unix.SignalfdSiginfo
		b := (*[unsafe.Sizeof(info)]byte)(unsafe.Pointer(&info))[:]
		if _, err := unix.Read(fd, b); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			return err
		}
		fmt.Println("got", signals.Name(syscall.Signal(info.Signo)))
	}
}

// blockOne blocks a signal in its first thread and in no other, has no handler
// for it and does nothing. That thread is the one whose mask /proc/PID/status
// shows.
//
//	worker blockone TSTP
func blockOne(args []string) error {
	set, err := oneSignal(args)
	if err != nil {
		return err
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil { // main is locked to it
		return err
	}
	fmt.Println("ready", os.Getpid())
	for {
		time.Sleep(time.Hour)
	}
}

func oneSignal(args []string) (set unix.Sigset_t, err error) {
	sig, err := signals.Parse(args[0])
	if err != nil {
		return set, err
	}
	return setOf(int(sig)), nil
}

func setOf(sigs ...int) (set unix.Sigset_t) {
	for _, n := range sigs {
		set.Val[(n-1)/64] |= 1 << ((n - 1) % 64)
	}
	return set
}

// headless ends its first thread, so that the process shows state Z and lives
// on in its other threads. It ignores TERM.
func headless([]string) error {
	signal.Ignore(syscall.SIGTERM)
	go func() {
		for stat := ""; !strings.Contains(stat, ") Z "); time.Sleep(time.Millisecond) {
			b, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", os.Getpid()))
			stat = string(b)
		}
		fmt.Println("ready", os.Getpid())
		for {
			time.Sleep(time.Hour)
		}
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // of the thread that main is locked to
	return nil
}
