package cli

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"drainit/supervisor"
)

// said is what drainit wrote before it ended, and its status.
type said struct {
	status         int
	stdout, stderr string
}

func run(t *testing.T, args, environ []string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	outcome := Run(args, environ, &stdout, &stderr)
	if outcome.Interrupted {
		t.Errorf("drainit %q ends as if interrupted", args)
	}
	return said{outcome.Status, stdout.String(), stderr.String()}
}

// A mistake is one printable line (parse.tsv has all). Without a COMMAND the usage follows.
func TestMistakeIsSaid(t *testing.T) {
	const none = "there is no COMMAND to run\n" + usage
	for args, line := range map[string]string{
		"--gr\x1b[2J y": `unknown flag: --gr\x1b[2J; drainit --help lists the flags, and COMMAND's own ` +
			`come after COMMAND` + "\n", "": none, "-t 5 --": none, "--version=false -v": none,
	} {
		if got := run(t, strings.Fields(args), nil); got != (said{125, "", "drainit: " + line}) {
			t.Errorf("drainit %s: %+v", args, got)
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	is := version(debug.ReadBuildInfo())
	// dockerd splits the line at " - " and expects git.COMMIT after it.
	if !regexp.MustCompile(`^drainit \S+ go1\.[^ ]+ - git\.[a-z0-9]+\n$`).MatchString(is) {
		t.Errorf("%q", is)
	}
	for args, want := range map[string]string{
		"-h": help, "-t 25x --help": help, "-g -c -h": help, "-V --help": help, "--help x": help,
		"status --json -h": help,
		"help":             help, "help status": help, "version": is, "version -s": is,
		"-V": is, "--version x": is, "-t 25x -V": is, "-g -c --version": is,
	} {
		environ := []string{"DRAINIT_GRACE=bad"}
		if got := run(t, strings.Fields(args), environ); got != (said{0, want, ""}) {
			t.Errorf("drainit %s: %+v", args, got)
		}
		var stderr bytes.Buffer
		full := writer(func([]byte) (int, error) { return 0, unix.ENOSPC })
		got := Run(strings.Fields(args), environ, full, &stderr)
		if want := (supervisor.Outcome{Status: 125}); !reflect.DeepEqual(got, want) ||
			stderr.String() != "drainit: no space left on device\n" {
			t.Errorf("drainit %s, no room: %+v, stderr %q", args, got, stderr.String())
		}
	}
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestVersionLine(t *testing.T) {
	built := func(key, value string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "v1"},
			Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: key, Value: value}}}
	}
	for info, want := range map[*debug.BuildInfo]string{
		nil:                               "drainit (unknown) GO - git.unknown\n",
		built("vcs.time", "2026-11-22"):   "drainit v1 GO - git.unknown\n",
		built("vcs.revision", "0123456"):  "drainit v1 GO - git.unknown\n",
		built("vcs.revision", "01234567"): "drainit v1 GO - git.0123456\n",
	} {
		if got := strings.Replace(version(info, info != nil), runtime.Version(), "GO", 1); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// withStderr calls f while descriptor 2 is another file.
func withStderr(t *testing.T, file *os.File, f func()) {
	t.Helper()
	saved := must(unix.FcntlInt(uintptr(unix.Stderr), unix.F_DUPFD_CLOEXEC, 3))
	defer unix.Close(saved)
	if err := unix.Dup3(int(file.Fd()), unix.Stderr, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Dup3(saved, unix.Stderr, 0)
	f()
}

// What drainit says it says itself, to the writers that it was given.
func TestFlagPackagePrintsNothing(t *testing.T) {
	file := must(os.Create(filepath.Join(t.TempDir(), "stderr")))
	defer file.Close()
	withStderr(t, file, func() {
		for _, args := range []string{"--help", "--grce 5 y", "-g=maybe", "status --help", "status --bad"} {
			run(t, strings.Fields(args), nil)
		}
	})
	if got := must(os.ReadFile(file.Name())); len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// A stop signal may come while the command line is read: it is subscribed to before that,
// whatever the command line says.
func TestStopSignalsAreSubscribedTo(t *testing.T) {
	runtime.LockOSThread() // a signal to this thread has come when tgkill returns
	defer runtime.UnlockOSThread()
	signal.Reset(unix.SIGINT, unix.SIGTERM)
	run(t, []string{"-t", "25x", "x"}, nil)
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} { // it would end this program
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), sig); err != nil {
			t.Fatal(err)
		}
	}
}

// What is said is not lost as long as standard error would take it, where a goroutine gets its turn late, as
// on a busy machine.
func TestWhatIsSaidLateIsNotLost(t *testing.T) {
	var said string
	fail(errors.New("already stopping"), "", writer(func(b []byte) (int, error) {
		time.Sleep(500 * time.Millisecond) // what is tested
		said += string(b)
		return len(b), nil
	}))
	if said != "drainit: already stopping\n" {
		t.Errorf("said %q", said)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
