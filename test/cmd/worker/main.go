// Command worker is what the tests run under drainit, and, as "worker stage",
// what prepares the surroundings of a drainit: it is the first process of a
// fresh PID namespace, sets up what the test asks for and becomes drainit.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
)

// The first process of a namespace is prepared, and is traced from its exec on, by
// its first thread: what a thread sets for itself, another that execs does not have.
// The state and the mask of a process are those of its first thread, too.
func init() {
	if len(os.Args) > 1 && slices.Contains([]string{"stage", "ctty", "hang", "blockone", "headless"}, os.Args[1]) {
		runtime.LockOSThread()
	}
}

func main() {
	verbs := map[string]func(args []string) error{
		"stage":    stage,
		"guard":    guard,
		"hostile":  hostile,
		"listen":   listen,
		"headless": headless,
		"noforks":  noForks,
		"noipv6":   noIPv6,
		"nocall":   noCall,
		"ctty":     ctty,
		"asroot":   asRoot,
		"sigwait":  sigwait,
		"blockone": blockOne,
		"hungfs":   hungFS,
		"hang":     hang,
		"drains":   drains,
		"send":     send,
	}
	if len(os.Args) < 2 || verbs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "worker: unknown verb")
		os.Exit(64)
	}
	if err := verbs[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(65)
	}
}
