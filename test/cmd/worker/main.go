// Command worker is what the tests run under drainit, and, as "worker stage",
// what prepares the surroundings of a drainit: it is the first process of a
// fresh PID namespace, sets up what the test asks for and becomes drainit.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"
)

// The first process of a namespace is prepared, and is traced from its exec on, by
// its first thread: what a thread sets for itself, another that execs does not have.
// The state and the mask of a process are those of its first thread, too.
func init() {
	if len(os.Args) > 1 && slices.Contains([]string{"stage", "hang", "headless"}, os.Args[1]) {
		runtime.LockOSThread()
	}
}

func main() {
	verbs := map[string]func(args []string){
		"stage":    stage,
		"guard":    guard,
		"reap":     reap,
		"hostile":  hostile,
		"listen":   listen,
		"headless": headless,
		"noforks":  noForks,
		"noipv6":   noIPv6,
		"nocall":   noCall,
		"hungfs":   hungFS,
		"hang":     hang,
		"drains":   drains,
		"send":     send,
	}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "worker: unknown verb")
		os.Exit(64)
	}
	verbs[os.Args[1]](os.Args[2:])
}

// must ends the worker by an error.
func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker: cannot %s: %v\n", what, err)
		os.Exit(65)
	}
}

// become becomes a command.
func become(command []string) {
	must("run "+command[0], syscall.Exec(command[0], command, os.Environ()))
}
