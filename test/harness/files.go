package harness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Must ends a test by an error of what it is built of.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TextOf is what a file has.
func TextOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	Must(t, err)
	return string(b)
}

// WriteFile makes a file that every user may read.
func WriteFile(t *testing.T, name string, b []byte) {
	t.Helper()
	Must(t, os.WriteFile(name, b, 0o644))
}

// WriteProgram writes a file for drainit to run. No other test may fork meanwhile:
// its child would hold the file open for writing, and the exec fail (ETXTBSY).
func WriteProgram(t *testing.T, dir, name string, mode os.FileMode, content string) string {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	path := filepath.Join(dir, name)
	Must(t, os.WriteFile(path, []byte(content), 0o600))
	Must(t, os.Chmod(path, mode))
	return path
}

// CannotRun makes a folder with programs that cannot be run: not-executable, and
// no-interpreter, whose interpreter is not there.
func CannotRun(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	WriteProgram(t, dir, "not-executable", 0o644, "#!/bin/sh\n")
	WriteProgram(t, dir, "no-interpreter", 0o755, "#!/nowhere\n")
	return dir
}

// Testdata is the absolute path of a file in the folder testdata of the package.
func Testdata(t *testing.T, elem ...string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("testdata", filepath.Join(elem...)))
	Must(t, err)
	return file
}

// EmptyFile is a termination log as the kubelet puts it there before the start.
func EmptyFile(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "termination-log")
	WriteFile(t, name, nil)
	return name
}

// TerminationLog is EmptyFile as Kubernetes binds it into a container: anybody may write it.
func TerminationLog(t *testing.T) (path string) {
	t.Helper()
	path = EmptyFile(t)
	Must(t, os.Chmod(path, 0o666)) // whatever the umask
	return path
}

// WantMessage checks what a termination message is.
func WantMessage(t *testing.T, path, pattern string) {
	t.Helper()
	if text := TextOf(t, path); !Matches(pattern, text) {
		t.Errorf("the termination message is %q, want %q", text, pattern)
	}
}

// WantLastMessage checks what is in a termination log: one line at most, printable.
func WantLastMessage(t *testing.T, file, pattern string) {
	t.Helper()
	all := TextOf(t, file)
	text := strings.TrimSuffix(all, "\n")
	if len(all) > 4096 || !Matches(pattern, text) {
		t.Errorf("the message is %q, want %q", all, pattern)
	}
	WantPrintable(t, text)
}

// Scratch is the folder of an image that holds two static programs and nothing
// else that any of them could use.
func Scratch(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	Must(t, os.Mkdir(filepath.Join(root, "proc"), 0o755))
	Must(t, os.Mkdir(filepath.Join(root, "dev"), 0o755))
	Must(t, os.Link(DrainitBin, filepath.Join(root, "drainit")))
	Must(t, os.Link(WorkerBin, filepath.Join(root, "worker")))
	WriteFile(t, filepath.Join(root, "dev/null"), nil)
	return root
}

// ServerDir makes a folder that the user can write to and all can look into,
// which t.TempDir's parent does not allow.
func ServerDir(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-nginx-")
	Must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	Must(t, errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "root"), 0o755)))
	if os.Getuid() == 0 {
		Must(t, os.Chown(dir, uid, uid))
	}
	return dir
}

// ReservePort returns a port on the loopback that is the test's own: a socket
// that is bound and does not listen keeps it from others, but not from a server
// which, like it, has SO_REUSEADDR (socket(7)).
func ReservePort(t *testing.T) int {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	Must(t, err)
	t.Cleanup(func() { unix.Close(fd) })
	Must(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	Must(t, unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	sa, err := unix.Getsockname(fd)
	Must(t, err)
	return sa.(*unix.SockaddrInet4).Port
}

// Pipe is a pipe that the test holds the write end of: what reads from it can
// be released by closing that.
func Pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	Must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// FullPipe is a pipe that has no room left, and that is not read.
func FullPipe(t *testing.T) *os.File {
	t.Helper()
	_, w := Pipe(t)
	size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
	Must(t, err)
	_, err = w.Write(make([]byte, size))
	Must(t, err)
	return w
}

// BadStderr are the ways in which standard error takes no line.
var BadStderr = map[string]func(t *testing.T) Launch{
	"a full pipe": func(t *testing.T) Launch { return Launch{Stderr: FullPipe(t)} },
	"a broken pipe": func(t *testing.T) Launch {
		r, w := Pipe(t)
		r.Close()
		return Launch{Stderr: w}
	},
	"a full disk": func(t *testing.T) Launch {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		Must(t, err)
		t.Cleanup(func() { full.Close() })
		return Launch{Stderr: full}
	},
	"closed": func(*testing.T) Launch { return Launch{Setup: Setup{CloseStderr: true}} },
}

// Java compiles a program in Java, once, and returns its start.
func Java(t *testing.T, source string) []string {
	t.Helper()
	Need(t, "java", "javac")
	main := strings.TrimSuffix(filepath.Base(source), ".java")
	dir := filepath.Join(filepath.Dir(DrainitBin), "java", main)
	compiling.Lock()
	defer compiling.Unlock()
	if _, err := os.Stat(dir); err != nil {
		OutputOf(t, exec.Command("javac", "-nowarn", "-d", dir, source))
	}
	return []string{"java", "-Xshare:auto", "-cp", dir, main}
}

// Jar compiles a Java program of one file, and returns the archive worker.jar beside it.
func Jar(t *testing.T, source string) string {
	t.Helper()
	Need(t, "javac", "jar")
	dir, main := filepath.Dir(source), strings.TrimSuffix(filepath.Base(source), ".java")
	jar := filepath.Join(dir, "worker.jar")
	OutputOf(t, exec.Command("javac", "-nowarn", "-d", filepath.Join(dir, "classes"), source))
	OutputOf(t, exec.Command("jar", "--create", "--file", jar, "--main-class", main, "-C", filepath.Join(dir, "classes"), "."))
	return jar
}

// compiling is held while a program is compiled.
var compiling sync.Mutex
