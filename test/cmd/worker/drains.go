package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// drains is a program with goroutines that wait. It drains for a second from its first TERM
// on, and records each.
//
//	worker drains RECORD
func drains(args []string) error {
	if len(args) < 1 {
		return errors.New("takes a record")
	}
	record, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	say := func(word string) { fmt.Fprintf(record, "%s %d\n", word, os.Getpid()) }
	signalled := make(chan os.Signal, 16)
	signal.Notify(signalled, unix.SIGTERM)
	for range 20 {
		go func() { <-time.After(time.Hour) }()
	}
	say("ready")
	var drained <-chan time.Time
	for {
		select {
		case <-signalled:
			say("signalled")
			if drained == nil {
				drained = time.After(time.Second)
			}
		case <-drained:
			return nil
		}
	}
}
