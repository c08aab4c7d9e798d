package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/internal/sigqueue"
	"drainit/test/harness/queued"
)

// send sends its parent a signal by kill(2) or sigqueue(3), as the first thing that it does
// or when the parent has a title, and USR2 behind it. It ignores all signals but that one,
// which shows that the parent lives and passes signals on, and exits with 7 when it comes.
//
//	worker send kill|queue SIG [TITLE]
func send(args []string) error {
	if len(args) < 2 {
		return errors.New("send takes a way and a signal")
	}
	by, ok := map[string]func(int, unix.Signal) error{"kill": unix.Kill, "queue": queued.Send}[args[0]]
	if !ok {
		return fmt.Errorf("cannot send by %q", args[0])
	}
	sig, err := signals.Parse(args[1])
	if err != nil {
		return err
	}
	ignoreOthers()
	echo := make(chan os.Signal, 1)
	signal.Notify(echo, unix.SIGUSR2)
	parent := os.Getppid()
	for _, title := range args[2:] {
		waitTitle(parent, title)
	}
	if err := by(parent, sig); err != nil {
		return fmt.Errorf("cannot send %s: %w", signals.Name(sig), err)
	}
	if err := unix.Kill(parent, unix.SIGUSR2); err != nil {
		return fmt.Errorf("cannot send USR2: %w", err)
	}
	<-echo
	os.Exit(7)
	return nil
}

// ignoreOthers goes around os/signal, which would take longer than a start.
func ignoreOthers() {
	for sig := unix.Signal(1); sig <= 64; sig++ {
		if sig != unix.SIGUSR2 {
			_, _ = sigqueue.SetAction(sig, sigqueue.Ignore) // fails for KILL and STOP
		}
	}
}

func waitTitle(pid int, title string) {
	for {
		comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if err != nil || strings.TrimSpace(string(comm)) == title {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
