// Command worker is what the tests run under drainit, and, as "worker stage",
// what prepares the surroundings of a drainit: it is the first process of a
// fresh PID namespace, sets up what the test asks for and becomes drainit.
package main

import (
	"fmt"
	"os"
)

func main() {
	verbs := map[string]func(args []string) error{
		"stage":        stage,
		"hostile":      hostile,
		"listen":       listen,
		"headless":     headless,
		"noforks":      noForks,
		"ctty":         ctty,
		"asroot":       asRoot,
		"sigtimedwait": sigtimedwait,
		"sigwait":      sigwait,
		"blockone":     blockOne,
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
