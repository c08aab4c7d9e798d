// Package spawn starts the worker as if drainit were not there: found as execvp(3) does,
// with an empty signal mask, default actions and the descriptors that drainit was given.
//
// It owns what must be set up before the fork and let go of after it (setup.go). It must never
// start a second worker, and nothing of it may be called off the locked main thread,
// whose signal mask and parent-death signal the worker's start depends on.
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

// defaultPath is searched where the environment has no PATH.
const defaultPath = "/usr/local/bin:/bin:/usr/bin"

// Config is how the worker is to be started.
type Config struct {
	Command []string // the program and its arguments, at least one
	Env     []string // NAME=value, all of it
	// Without a controlling terminal the worker leads a session of its own, where the
	// kernel discards a TSTP that no process handles; with one a process group of its
	// own, in the background.
	OnTerminal bool
	OnDeath    unix.Signal // sent to the worker when drainit dies and is not PID 1
}

// Error says why the worker could not be started, and the exit status for that.
type Error struct {
	Status int
	err    error
}

func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error number of the system call that failed, with its context. There
// is none of a program that was not found.
func (e *Error) Unwrap() error { return e.err }

// ErrNotBound says that the worker runs, and would go on if drainit were killed.
var ErrNotBound = errors.New("the worker will not be signalled if drainit is killed")

// Start starts the worker and returns its pid when the exec has been done. The error is
// an *Error; or ErrNotBound beside a pid, where the worker runs all the same.
func Start(cfg Config) (pid int, err error) {
	onDeath, notBound := openDeathPipes(cfg.OnDeath)
	pid, err = start(cfg.Command, cfg.Env, &syscall.SysProcAttr{Setsid: !cfg.OnTerminal, Setpgid: cfg.OnTerminal})
	if err != nil {
		return 0, err
	}
	if notBound == nil {
		notBound = onDeath.aimAt(pid)
	}
	if notBound != nil {
		return pid, fmt.Errorf("%w: %w", ErrNotBound, notBound)
	}
	return pid, nil
}

// start starts argv as execvp(3) does: a name without a slash is looked up in PATH, and
// a file that the kernel does not know is run by /bin/sh.
func start(argv, env []string, attr *syscall.SysProcAttr) (pid int, err error) {
	procAttr := &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: attr}
	var last error = unix.ENOENT
	found := ""
	for _, path := range lookUp(argv[0], env) {
		if err := checkFile(path); err != nil {
			if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
				last, found = err, path
			}
			continue
		}
		pid, err := forkExec(path, argv, procAttr)
		if err == nil {
			return pid, nil
		}
		last, found = err, path
		if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.EACCES) {
			break
		}
	}
	return 0, explain(argv, found, last)
}

// lookUp returns the paths that execvp would try, in its order. An empty
// element of PATH is the working directory.
func lookUp(name string, env []string) []string {
	if name == "" || strings.Contains(name, "/") {
		return []string{name}
	}
	path := defaultPath
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, "PATH="); ok {
			path = value
			break
		}
	}
	var all []string
	for dir := range strings.SplitSeq(path, ":") {
		all = append(all, cmp.Or(dir, ".")+"/"+name)
	}
	return all
}

// checkFile saves a fork for a path that could not be run anyway.
func checkFile(path string) error {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return unix.EISDIR
	}
	if st.Mode&0o111 == 0 {
		return unix.EACCES // for root, too
	}
	return nil
}

func forkExec(path string, argv []string, procAttr *syscall.ProcAttr) (pid int, err error) {
	if namesDrainit(procAttr.Env) {
		if pid, err := forkListening(path, argv, procAttr); err == nil {
			return pid, nil
		} // no /proc: then it is without its descriptors
	}
	pid, err = syscall.ForkExec(path, argv, procAttr)
	if isScript(path, err) {
		return syscall.ForkExec("/bin/sh", shellLine(path, argv), procAttr)
	}
	return pid, err
}

// isScript reports whether an exec failed of a file that execvp has /bin/sh run.
func isScript(path string, err error) bool { return errors.Is(err, unix.ENOEXEC) && !isELF(path) }

func shellLine(path string, argv []string) []string {
	return append([]string{"/bin/sh", path}, argv[1:]...)
}

// isELF tells a binary of another architecture from a script without "#!".
func isELF(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	n, _ := f.Read(magic)
	return string(magic[:n]) == "\x7fELF"
}

// explain turns the errno of a failed start into a line that says what to do. A single word
// may be a mistyped verb.
func explain(argv []string, found string, err error) *Error {
	fail := func(status int, format string, args ...any) *Error {
		return &Error{status, fmt.Errorf("cannot run %q: "+format, append([]any{argv[0]}, args...)...)}
	}
	switch {
	case found == "" && strings.Contains(argv[0], "/"):
		return fail(StatusNotFound, "there is no such file")
	case found == "" && (len(argv) == 1 || strings.HasPrefix(argv[1], "-")):
		return fail(StatusNotFound, "not found in PATH; drainit --help lists drainit's own verbs")
	case found == "":
		return fail(StatusNotFound, "not found in PATH")
	case errors.Is(err, unix.EAGAIN):
		return fail(StatusFailed, "the limit of processes is reached (pids.max of the container, or ulimit -u): %w", err)
	case errors.Is(err, unix.ENOMEM), errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return fail(StatusFailed, "%w", err)
	case errors.Is(err, unix.ENOENT):
		return fail(StatusNotExecutable, "%s exists, but not the interpreter (#!) or loader that it names: %w", found, err)
	case errors.Is(err, unix.ENOEXEC):
		return fail(StatusNotExecutable, "%s is for another kind of machine: %w", found, err)
	}
	return fail(StatusNotExecutable, "%s: %w", found, err)
}
