package spawn

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// A program takes descriptors from socket activation only if LISTEN_PID is its own pid
// (sd_listen_fds(3)). Where that names drainit, it is meant for the worker, whose pid nobody
// knows before the fork: so drainit runs itself once more between the fork and the worker's exec.
const (
	listenPID = "LISTEN_PID"
	// ListenArg0 is the name of such a drainit. Its arguments are the path to be executed and
	// the worker's own, from the name on.
	ListenArg0 = "drainit: LISTEN_PID"
)

// ExecListening becomes the worker, or returns why it can't.
func ExecListening(args []string) *Error {
	if len(args) < 2 {
		return &Error{StatusFailed, fmt.Errorf("%q is for drainit itself", ListenArg0)}
	}
	os.Setenv(listenPID, strconv.Itoa(os.Getpid()))
	path, argv := args[0], args[1:]
	_, err := orByShell(path, argv, func(path string, argv []string) (int, error) {
		return 0, syscall.Exec(path, argv, os.Environ())
	})
	return failure(argv, path, err)
}
