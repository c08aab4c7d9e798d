package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// sigwait blocks a signal in every thread, has no handler for it and waits for
// it by signalfd(2), over and over: it prints a line for each, "got SIGTSTP".
//
//	worker sigwait TSTP
func sigwait(args []string) error {
	set, err := blockedInAll(args)
	if err != nil {
		return err
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

// blockedInAll is the set of the one signal that args name, blocked in every
// thread: each thread of a Go program inherits the mask that it was started with.
func blockedInAll(args []string) (unix.Sigset_t, error) {
	set, err := oneSignal(args)
	const blocked = "SIGWAIT_BLOCKED"
	if err != nil || os.Getenv(blocked) != "" {
		return set, err
	}
	runtime.LockOSThread()
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		return set, err
	}
	return set, syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), blocked+"=1"))
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
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &set, nil); err != nil {
		return err
	}
	fmt.Println("ready", os.Getpid())
	for {
		time.Sleep(time.Hour)
	}
}

func oneSignal(args []string) (set unix.Sigset_t, err error) {
	if len(args) != 1 {
		return set, errors.New("takes one signal")
	}
	sig, err := signals.Parse(args[0])
	if err != nil {
		return set, err
	}
	set.Val[(sig-1)/64] |= 1 << ((sig - 1) % 64)
	return set, nil
}
