package spawn

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// A program takes descriptors from socket activation only if LISTEN_PID is its own pid
// (sd_listen_fds(3)). Where that names drainit, it is meant for the worker, whose pid is
// known to none before the fork: so drainit runs itself once more between the fork and the
// worker's exec.
const (
	listenPID = "LISTEN_PID="
	// ListenArg0 is what such a drainit is called by: its arguments are the path to be
	// executed and the worker's own, from the name on.
	ListenArg0 = "drainit: LISTEN_PID"
)

// namesDrainit reports whether an environment has a LISTEN_PID that names this process.
func namesDrainit(env []string) bool {
	return slices.Contains(env, listenPID+strconv.Itoa(os.Getpid()))
}

// forkListening starts a program that finds its own pid in LISTEN_PID. What the exec of that
// program says can't be known here; most of it is asked for before.
func forkListening(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	return syscall.ForkExec("/proc/self/exe", append([]string{ListenArg0, path}, argv...), attr)
}

// ExecListening becomes the worker: args are the path and the worker's arguments. It
// returns why it can't.
func ExecListening(args, env []string) *Error {
	if len(args) < 2 {
		return &Error{StatusFailed, fmt.Errorf("%q is for drainit itself", ListenArg0)}
	}
	path, argv := args[0], args[1:]
	for i, v := range env {
		if strings.HasPrefix(v, listenPID) {
			env[i] = listenPID + strconv.Itoa(os.Getpid())
		}
	}
	err := syscall.Exec(path, argv, env)
	if isScript(path, err) {
		err = syscall.Exec("/bin/sh", shellLine(path, argv), env)
	}
	return explain(argv, path, err)
}
