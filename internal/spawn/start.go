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
	// True with a controlling terminal: the worker leads a process group of its own, in the background.
	// Otherwise the worker leads a session, where the kernel discards a TSTP that no process handles.
	OnTerminal bool
}

// Error says why the worker could not be started, and the exit status for that.
type Error struct {
	Status int
	error
}

// Start starts the worker and returns its pid when the exec has been done. The error is an *Error if the
// worker was not started. An error beside a pid is a warning of another type: the worker runs all the same.
func Start(cfg Config) (pid int, err error) {
	argv := cfg.Command
	input, release := inputFor()
	defer release()
	attr := &syscall.ProcAttr{
		Env:   cfg.Env,
		Files: []uintptr{input, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: !cfg.OnTerminal, Setpgid: cfg.OnTerminal},
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
				return 0, failure(argv, path, err)
			}
		}
		last, found = err, path
	}
	return 0, failure(argv, found, last)
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

// checkFile returns the reason why a path could not be run, nil if it may be. It saves a fork.
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
	return orByShell(path, argv, func(path string, argv []string) (int, error) {
		return syscall.ForkExec(path, argv, attr)
	})
}

// orByShell executes a program, or /bin/sh with a script without "#!", as execvp does.
func orByShell(path string, argv []string, exec func(string, []string) (int, error)) (pid int, err error) {
	pid, err = exec(path, argv)
	forAnotherMachine := func() bool { return strings.HasPrefix(firstLine(path), "\x7fELF") }
	if errors.Is(err, unix.ENOEXEC) && !forAnotherMachine() {
		return exec("/bin/sh", append([]string{"/bin/sh", path}, argv[1:]...))
	}
	return pid, err
}

// firstLine returns as much of a file's first line as the kernel reads, "" if it can't be read.
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

// failure returns the Error of a failed start, which says what to do. found is the file that could not be
// run, "" if no file was found.
func failure(argv []string, found string, err error) *Error {
	status, why := StatusNotExecutable, ""
	switch {
	case found == "":
		status, why = StatusNotFound, whyNotFound(argv)
	case errors.Is(err, unix.EAGAIN):
		status = StatusFailed
		why = "the limit of processes is reached (pids.max of the container, or ulimit -u): " + err.Error()
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		status, why = StatusFailed, err.Error()
	default:
		why = whyNotExecutable(found, err)
	}
	return &Error{status, fmt.Errorf("cannot run %q: %s", argv[0], why)}
}

// whyNotFound says what is wrong with a command line whose program is not there. A single word, or one before
// a flag, may be meant as a subcommand.
func whyNotFound(argv []string) string {
	switch {
	case strings.ContainsAny(argv[0], " \t\n"):
		return "there is no such file; it has a blank, and each argument is a word of its own: " +
			"drainit -- COMMAND ARG"
	case strings.Contains(argv[0], "/"):
		return "there is no such file"
	case len(argv) == 1 || strings.HasPrefix(argv[1], "-"):
		return "not found in PATH; a subcommand must be the first argument, and drainit --help lists them"
	}
	return "not found in PATH"
}

// whyNotExecutable says what is wrong with a file that the kernel does not execute.
func whyNotExecutable(file string, err error) string {
	switch {
	case errors.Is(err, unix.ENOENT) && strings.HasSuffix(firstLine(file), "\r"):
		return file + " ends its first line with a carriage return: save it with Unix line ends"
	case errors.Is(err, unix.ENOENT):
		return fmt.Sprintf("%s exists, but not the interpreter (#!) or loader that it names: %v", file, err)
	case errors.Is(err, unix.ENOEXEC):
		return fmt.Sprintf("%s is for another kind of machine: %v", file, err)
	}
	return fmt.Sprintf("%s: %v", file, err)
}
