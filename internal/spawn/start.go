// Package spawn starts the worker as if drainit were not there: found as execvp(3) does,
// with an empty signal mask, default actions and the descriptors that drainit was given.
//
// It owns what must be set up before the fork and let go of after it (setup.go). It must never
// start a second worker, nor be called off the locked main thread, whose signal mask the worker
// inherits.
package spawn

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Exit statuses for a worker that could not be started, as of a shell and of env(1).
const (
	StatusFailed        = 125 // drainit itself failed, or was called wrongly
	StatusNotExecutable = 126
	StatusNotFound      = 127
)

// Config is how the worker is to be started.
type Config struct {
	Command []string // the program and its arguments, at least one
	Env     []string // NAME=value, all of it
	// With a controlling terminal the worker leads a process group of its own, in the background;
	// without one a session, where the kernel discards a TSTP that no process handles.
	OnTerminal bool
}

// Error says why the worker could not be started, and the exit status for that.
type Error struct {
	Status int
	error
}

// Start starts the worker and returns its pid when the exec has been done. The error is an
// *Error; beside a pid it is a warning, and the worker runs all the same.
func Start(cfg Config) (pid int, err error) {
	argv := cfg.Command
	attr := &syscall.ProcAttr{
		Env: cfg.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: !cfg.OnTerminal, Setpgid: cfg.OnTerminal},
	}
	var last error
	found := ""
	for _, path := range lookUp(argv[0]) {
		err := checkFile(path)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			continue
		}
		if err == nil {
			if pid, err = fork(path, argv, attr); err == nil {
				return pid, signalAtDeath(pid)
			}
			if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
				return 0, explain(argv, path, err)
			}
		}
		last, found = err, path
	}
	return 0, explain(argv, found, last)
}

// lookUp returns the paths that execvp would try, in its order. An empty element of PATH, which
// is the worker's as well as drainit's, is the working directory.
func lookUp(name string) (all []string) {
	if name == "" || strings.Contains(name, "/") {
		return []string{name}
	}
	path, ok := os.LookupEnv("PATH")
	if !ok {
		path = "/usr/local/bin:/bin:/usr/bin"
	}
	for dir := range strings.SplitSeq(path, ":") {
		all = append(all, cmp.Or(dir, ".")+"/"+name)
	}
	return all
}

// checkFile saves a fork for a path that could not be run anyway.
func checkFile(path string) error {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	switch {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT == unix.S_IFDIR:
		return unix.EISDIR
	case st.Mode&0o111 == 0:
		return unix.EACCES // for root, too
	}
	return nil
}

func fork(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	if os.Getenv(listenPID) == strconv.Itoa(os.Getpid()) {
		again := append([]string{ListenArg0, path}, argv...)
		if pid, err := syscall.ForkExec("/proc/self/exe", again, attr); err == nil {
			return pid, nil
		} // no /proc: then it is without its descriptors
	}
	return orByShell(path, argv, func(path string, argv []string) (int, error) {
		return syscall.ForkExec(path, argv, attr)
	})
}

// orByShell executes a program, or has /bin/sh run a script without "#!", as execvp does.
func orByShell(path string, argv []string, exec func(string, []string) (int, error)) (pid int, err error) {
	pid, err = exec(path, argv)
	if errors.Is(err, unix.ENOEXEC) && !strings.HasPrefix(firstLine(path), "\x7fELF") { // that is for another kind of machine
		return exec("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...))
	}
	return pid, err
}

// firstLine is as much of a file's first line as the kernel reads, "" where it can't be read.
func firstLine(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	read := make([]byte, 256)
	n, _ := f.Read(read)
	line, _, _ := strings.Cut(string(read[:n]), "\n")
	return line
}

// explain turns the errno of a failed start into a line that says what to do. A single word
// may be a mistyped verb.
func explain(argv []string, found string, err error) *Error {
	status, why := StatusNotExecutable, fmt.Sprintf("%s: %v", found, err)
	switch {
	case found == "" && strings.ContainsAny(argv[0], " \t\n"):
		status, why = StatusNotFound, "there is no such file; it has a blank, and each argument is a word of its own: drainit -- COMMAND ARG"
	case found == "" && strings.Contains(argv[0], "/"):
		status, why = StatusNotFound, "there is no such file"
	case found == "" && (len(argv) == 1 || strings.HasPrefix(argv[1], "-")):
		status, why = StatusNotFound, "not found in PATH; a subcommand must be the first argument, as in: drainit status"
	case found == "":
		status, why = StatusNotFound, "not found in PATH"
	case errors.Is(err, unix.EAGAIN):
		status, why = StatusFailed, "the limit of processes is reached (pids.max of the container, or ulimit -u): "+err.Error()
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		status, why = StatusFailed, err.Error()
	case errors.Is(err, unix.ENOENT) && strings.HasSuffix(firstLine(found), "\r"):
		why = found + " ends its first line with a carriage return: save it with Unix line ends"
	case errors.Is(err, unix.ENOENT):
		why = fmt.Sprintf("%s exists, but not the interpreter (#!) or loader that it names: %v", found, err)
	case errors.Is(err, unix.ENOEXEC):
		why = fmt.Sprintf("%s is for another kind of machine: %v", found, err)
	}
	return &Error{status, fmt.Errorf("cannot run %q: %s", argv[0], why)}
}
