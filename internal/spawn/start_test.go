package spawn

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/test/harness/rows"
)

func TestLookUp(t *testing.T) {
	rows.Compare(t, "testdata/lookups.tsv", 3, func(row []string) any {
		t.Setenv("PATH", row[0])
		return strings.Join(lookUp(row[1]), " ")
	})
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
		file("by no user", 0o644):        unix.EACCES,
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
	filled := strings.NewReplacer("SCRIPT", script, "SUBCOMMANDS", "not found in PATH; a subcommand must be "+
		"the first argument, and drainit --help lists them")
	errs := map[string]error{"EACCES": unix.EACCES, "EISDIR": unix.EISDIR, "ENOEXEC": unix.ENOEXEC,
		"ENOENT": unix.ENOENT, "EAGAIN": unix.EAGAIN, "ENOMEM": unix.ENOMEM}
	for _, row := range rows.Read(t, "testdata/explained.tsv", 5) {
		want := filled.Replace(row[4])
		err := failure(strings.Split(row[0], "|"), filled.Replace(row[1]), errs[row[2]])
		line := err.Error()
		if fmt.Sprint(err.Status) != row[3] || !strings.Contains(line, want) || strings.Contains(line, "\n") {
			t.Errorf("%q: %d %s, want %s", row, err.Status, line, want)
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
