package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"drainit/internal/signals"
	"drainit/test/harness/queued"
)

// listen handles signals and prints a line for each, "got SIGTERM". After one
// of those named by -end it goes on for -drain, prints "drained" and exits.
//
//	worker listen [-catch TERM,TSTP] [-end TERM,INT] [-drain 2s] [-exit 0] [-name x]
func listen(args []string) {
	fs := flag.NewFlagSet("listen", flag.ExitOnError)
	catch := fs.String("catch", "TERM", "signals to catch, or all")
	end := fs.String("end", "TERM", "signals that begin the drain")
	drain := fs.Duration("drain", 0, "how long the drain takes")
	exit := fs.Int("exit", 0, "exit status")
	name := fs.String("name", "", "printed before each line")
	_ = fs.Parse(args) // which ends it
	caught, endings := make(chan os.Signal, 4096), parseSignals(*end)
	signal.Notify(caught, parseSignals(*catch)...)
	say := func(format string, args ...any) {
		fmt.Print(*name + fmt.Sprintf(format, args...) + "\n")
	}
	say("ready %d", os.Getpid())
	var done <-chan time.Time
	for {
		select {
		case sig := <-caught:
			say("got %s", signals.Name(sig.(syscall.Signal)))
			if done == nil && slices.Contains(endings, sig) {
				done = time.After(*drain)
			}
		case <-done:
			say("drained")
			os.Exit(*exit)
		}
	}
}

func parseSignals(list string) (all []os.Signal) {
	if list == "all" {
		for _, sig := range append(signals.All(), signals.Faults()...) {
			all = append(all, sig)
		}
		return all
	}
	for _, name := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		all = append(all, parseSignal(name))
	}
	return all
}

func parseSignal(name string) unix.Signal {
	sig, err := signals.Parse(name)
	must("read a signal", err)
	return sig
}

// drains is a program with goroutines that wait. It drains for a second from its first TERM
// on, and records each.
//
//	worker drains RECORD
func drains(args []string) {
	record, err := os.OpenFile(args[0], os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	must("open the record", err)
	signalled := make(chan os.Signal, 16)
	signal.Notify(signalled, unix.SIGTERM)
	for range 20 {
		go func() { <-time.After(time.Hour) }()
	}
	fmt.Fprintln(record, "ready", os.Getpid())
	var drained <-chan time.Time
	for {
		select {
		case <-signalled:
			fmt.Fprintln(record, "signalled", os.Getpid())
			if drained == nil {
				drained = time.After(time.Second)
			}
		case <-drained:
			return
		}
	}
}

// send sends its parent a signal by kill(2) or sigqueue(3), as the first thing that it does
// or when the parent has a title, and USR2 after it. It ignores all signals but that one,
// which shows that the parent lives and passes signals on, and exits with 7 when it comes.
//
//	worker send kill|queue SIG [TITLE]
func send(args []string) {
	by := map[string]func(int, unix.Signal) error{"kill": unix.Kill, "queue": queued.Send}[args[0]]
	sig := parseSignal(args[1])
	ignoreAllBut(unix.SIGUSR2) // os/signal would take longer than a start
	echo := make(chan os.Signal, 1)
	signal.Notify(echo, unix.SIGUSR2)
	parent := os.Getppid()
	for _, title := range args[2:] {
		waitTitle(parent, title)
	}
	must("send "+signals.Name(sig), by(parent, sig))
	must("send USR2", unix.Kill(parent, unix.SIGUSR2))
	<-echo
	os.Exit(7)
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

// headless ends its first thread, so that the process shows state Z and lives
// on in its other threads. It ignores TERM.
func headless([]string) {
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
}
