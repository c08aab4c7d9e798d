package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
)

// listen handles signals and prints a line for each, "got SIGTERM". After one
// of those named by -end it goes on for -drain, prints "drained" and exits.
//
//	worker listen [-catch TERM,TSTP] [-end TERM,INT] [-drain 2s] [-exit 0] [-name x]
func listen(args []string) error {
	fs := flag.NewFlagSet("listen", flag.ContinueOnError)
	catch := fs.String("catch", "TERM", "signals to catch, or all")
	end := fs.String("end", "TERM", "signals that begin the drain")
	drain := fs.Duration("drain", 0, "how long the drain takes")
	exit := fs.Int("exit", 0, "exit status")
	name := fs.String("name", "", "printed before each line")
	if err := fs.Parse(args); err != nil {
		return err
	}
	caught := make(chan os.Signal, 4096)
	sigs, err := parseSignals(*catch)
	if err != nil {
		return err
	}
	signal.Notify(caught, sigs...)
	endings, err := parseSignals(*end)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) {
		fmt.Fprint(os.Stdout, *name+fmt.Sprintf(format, args...)+"\n")
	}
	say("ready %d", os.Getpid())
	var done <-chan time.Time
	for {
		select {
		case sig := <-caught:
			say("got %s", signals.Name(sig.(syscall.Signal)))
			for _, e := range endings {
				if sig == e && done == nil {
					done = time.After(*drain)
				}
			}
		case <-done:
			say("drained")
			os.Exit(*exit)
		}
	}
}

func parseSignals(list string) ([]os.Signal, error) {
	var all []os.Signal
	if list == "all" {
		for _, sig := range append(signals.All(), signals.Faults()...) {
			all = append(all, sig)
		}
		return all, nil
	}
	for _, name := range strings.Split(list, ",") {
		if name == "" {
			continue
		}
		sig, err := signals.Parse(name)
		if err != nil {
			return nil, err
		}
		all = append(all, unix.Signal(sig))
	}
	return all, nil
}
