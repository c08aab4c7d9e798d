package spawn

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The paths are those of execvp(3): an empty element of PATH is the working directory.
func TestLookUp(t *testing.T) {
	for _, tt := range []struct{ path, name, want string }{
		{"/bin:/usr/bin", "node", "/bin/node /usr/bin/node"},
		{"/bin::/x", "node", "/bin/node ./node /x/node"},
		{"", "node", "./node"},
		{"/bin", "./node", "./node"},
		{"/bin", "/opt/node", "/opt/node"},
		{"/bin", "a/b", "a/b"},
		{"/bin", "", ""},
	} {
		t.Setenv("PATH", tt.path)
		if got := strings.Join(lookUp(tt.name), " "); got != tt.want {
			t.Errorf("%q in %q: %q, want %q", tt.name, tt.path, got, tt.want)
		}
	}
	os.Unsetenv("PATH")
	want := []string{"/usr/local/bin/node", "/bin/node", "/usr/bin/node"}
	if got := lookUp("node"); !slices.Equal(got, want) {
		t.Errorf("without PATH: %q", got)
	}
}

func TestCheckFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for path, want := range map[string]error{
		file("may be run", 0o755):        nil,
		file("by others alone", 0o601):   nil,
		file("by nobody", 0o644):         unix.EACCES,
		dir:                              unix.EISDIR,
		filepath.Join(dir, "none"):       unix.ENOENT,
		file("a file", 0o755) + "/below": unix.ENOTDIR,
	} {
		if err := checkFile(path); err != want { //nolint:errorlint // of stat(2) as it is
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
}

// Each reason has a line that says what to do, and the status of a shell.
func TestExplain(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\r\necho\r\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	const subcommands = "not found in PATH; a subcommand must be the first argument, " +
		"and drainit --help lists them"
	for _, tt := range []struct {
		command, found string
		err            error
		status         int
		want           string
	}{
		{"node", "", nil, 127, `cannot run "node": ` + subcommands},
		{"status|--json", "", nil, 127, `cannot run "status": ` + subcommands},
		{"stats", "", nil, 127, `cannot run "stats": ` + subcommands},
		{"qiet|--sleep", "", nil, 127, subcommands},
		{"status|x", "", nil, 127, `cannot run "status": not found in PATH`},
		{"./node", "", nil, 127, `there is no such file`},
		{"node app.js", "", nil, 127, `it has a blank, and each argument is a word of its own`},
		{"app", "/bin/app", unix.EACCES, 126, `/bin/app: permission denied`},
		{"app", "/bin/app", unix.EISDIR, 126, `/bin/app: is a directory`},
		{"app", "/bin/app", unix.ENOEXEC, 126, `/bin/app is for another kind of machine`},
		{"app", "/bin/app", unix.ENOENT, 126,
			`/bin/app exists, but not the interpreter (#!) or loader that it names`},
		{"app", script, unix.ENOENT, 126,
			`ends its first line with a carriage return: save it with Unix line ends`},
		{"app", "/bin/app", unix.EAGAIN, 125,
			`the limit of processes is reached (pids.max of the container, or ulimit -u)`},
		{"app", "/bin/app", unix.ENOMEM, 125, `cannot allocate memory`},
	} {
		err := failure(strings.Split(tt.command, "|"), tt.found, tt.err)
		line := err.Error()
		if err.Status != tt.status || !strings.Contains(line, tt.want) || strings.Contains(line, "\n") {
			t.Errorf("%s, %v: %d %s, want %d %s", tt.command, tt.err, err.Status, line, tt.status, tt.want)
		}
	}
}

// A script without "#!" is run by /bin/sh, and no program of another machine is.
func TestOrByShell(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"echo":            "/bin/sh [/bin/sh FILE arg]",
		"":                "/bin/sh [/bin/sh FILE arg]",
		"\x7fELF\x02\x01": "exec format error",
	} {
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		ran := ""
		_, err := orByShell(file, []string{"name", "arg"}, func(path string, argv []string) (int, error) {
			if path == file {
				return 0, unix.ENOEXEC
			}
			ran = path + " [" + strings.Join(argv, " ") + "]"
			return 1, nil
		})
		if err != nil {
			ran = err.Error()
		}
		if got := strings.ReplaceAll(ran, file, "FILE"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A parent that has died before its death was asked for sends nothing more: the caller gets the signal at
// once.
func TestWatchParentThatHasDied(t *testing.T) {
	runtime.LockOSThread() // the request is a thread's
	defer runtime.UnlockOSThread()
	defer func() {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0); err != nil {
			t.Error(err)
		}
	}()
	came := make(chan os.Signal, 2)
	signal.Notify(came, unix.SIGUSR1, unix.SIGUSR2)
	defer signal.Stop(came)
	errs := errors.Join(WatchParent(os.Getppid(), unix.SIGUSR1), WatchParent(os.Getpid(), unix.SIGUSR2))
	select {
	case sig := <-came:
		if sig != unix.SIGUSR2 || errs != nil {
			t.Errorf("%v came, %v", sig, errs)
		}
	case <-time.After(time.Minute):
		t.Errorf("no signal came, %v", errs)
	}
}
