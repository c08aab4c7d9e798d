package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// headless ends its first thread, so that the process shows state Z and lives
// on in its other threads. It ignores TERM.
func headless([]string) error {
	signal.Ignore(syscall.SIGTERM)
	for range 64 {
		go func() {
			runtime.LockOSThread() // each on a thread of its own, one of them on the first
			for os.Getpid() != syscall.Gettid() {
				time.Sleep(time.Hour)
			}
			_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
		}()
	}
	for !leaderIsDead() {
		time.Sleep(time.Millisecond)
	}
	fmt.Println("ready", os.Getpid())
	for {
		time.Sleep(time.Hour)
	}
}

func leaderIsDead() bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", os.Getpid()))
	if err != nil {
		return false
	}
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] == ')' {
			return b[i+2] == 'Z'
		}
	}
	return false
}
