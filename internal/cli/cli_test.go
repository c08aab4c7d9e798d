package cli

import (
	"bytes"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"drainit/supervisor"
)

// noTerminationLog keeps a test from writing the one of a container that it runs in.
const noTerminationLog = "DRAINIT_TERMINATION_LOG="

// said is what drainit wrote before it ended, and its status.
type said struct {
	status         int
	stdout, stderr string
}

// run runs a command line that starts nothing.
func run(t *testing.T, args, environ []string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	outcome := Run(args, environ, &stdout, &stderr)
	if outcome.Interrupted {
		t.Errorf("drainit %q ends as if interrupted", args)
	}
	return said{outcome.Status, stdout.String(), stderr.String()}
}

func TestBadInputSaysWhatToDo(t *testing.T) {
	tests := []struct {
		args string
		env  string
		want string // all of the line that matters
	}{
		{"-t 25x y", "", `--grace: invalid duration "25x": want 25s`},
		{"-t -5s y", "", `--grace: invalid duration "-5s"`},
		{"-t 90000000 y", "", `(milliseconds meant?)`},
		{"-t 99999999999999999999 y", "", `invalid duration`},
		{"-t 169h y", "", `more than a week`},
		{"--stop-delay infinity y", "", `--stop-delay: invalid duration "infinity": want 5s`},
		{"--stop-delay 30s y", "", `30s is not shorter than the grace period of 30s`},
		{"-t 0 --stop-delay 1s y", "", `not shorter than the grace period of 0s`},
		{"--stop-signal KILL y", "", `SIGKILL can't begin the stop`},
		{"--stop-signal TSTP y", "", `SIGTSTP can't begin the stop`},
		{"--stop-signal FOO y", "", `--stop-signal: invalid signal "FOO": want a name such as TERM`},
		{"-r TERM y", "", `--rewrite: invalid rewrite "TERM": want FROM:TO`},
		{"-r KILL:TERM y", "", `SIGKILL can't be rewritten`},
		{"--forward all y", "", `--forward: invalid value "all": want auto, group or worker`},
		{"-g -c y", "", `give one of them`},
		{"-g --forward auto y", "", `give one of them`},
		{"-e 256 y", "", `--remap-exit: invalid exit status "256": want a number from 0 to 255`},
		{"-e -1 y", "", `--remap-exit: invalid exit status "-1"`},
		{"-p 0 y", "", `--parent-death-signal: invalid signal "0"`},
		{"--health-addr drainit:80 y", "", `--health-addr: invalid value "drainit:80": want :8080 or 127.0.0.1:8080, an address and not a name`},
		{"--log-format xml y", "", `--log-format: invalid value "xml": want auto, json or text`},
		{"--log-level panic y", "", `--log-level: invalid value "panic": want error, warn, warning, info or debug`},
		{"--pause y", "", `--pause runs no COMMAND, and was given "y"`},
		{"--grce 5 y", "", `unknown flag: --grce`},
		{"-x y", "", `unknown shorthand flag: 'x' in -x`},
		{"--grace", "", `flag needs an argument: --grace`},
		{"y", "DRAINIT_GRACE=25x", `DRAINIT_GRACE: invalid duration "25x"`},
		{"y", "DRAINIT_REWRITE=TERM:QUIT,HUP", `DRAINIT_REWRITE: invalid rewrite "HUP"`},
		{"y", "OJS_GRACE_PERIOD=soon", `OJS_GRACE_PERIOD: invalid duration "soon"`},
	}
	for _, tt := range tests {
		t.Run(tt.args+tt.env, func(t *testing.T) {
			got := run(t, strings.Fields(tt.args), []string{tt.env, noTerminationLog})
			line := got.stderr
			if got.status != 125 || got.stdout != "" || !strings.Contains(line, tt.want) {
				t.Errorf("status %d, stdout %q, stderr %q; want 125 and %q", got.status, got.stdout, line, tt.want)
			}
			if !strings.HasPrefix(line, "drainit: ") || strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
				t.Errorf("not one line of drainit's: %q", line)
			}
		})
	}
}

func TestUnknownFlagIsToldOfHelpAndOfCOMMANDsOwnFlags(t *testing.T) {
	want := said{125, "", "drainit: unknown flag: --grce; drainit --help lists the flags, and COMMAND's own come after COMMAND\n"}
	if got := run(t, []string{"--grce", "5", "y"}, []string{noTerminationLog}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// An argument can't forge a second line, nor move the cursor.
func TestMistakeIsOnePrintableLine(t *testing.T) {
	want := said{125, "", `drainit: unknown flag: --a\x1b[2J\nb; drainit --help lists the flags, and COMMAND's own come after COMMAND` + "\n"}
	if got := run(t, []string{"--a\x1b[2J\nb", "y"}, []string{noTerminationLog}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestHelp(t *testing.T) {
	for _, args := range []string{
		"-h", "--help", "-t 25x --help", "-g -c -h", "-V --help", "--help x",
		"status --help", "status --json -h",
	} {
		if got, want := run(t, strings.Fields(args), []string{"DRAINIT_GRACE=bad"}), (said{0, help, ""}); got != want {
			t.Errorf("drainit %s: got %+v", args, got)
		}
	}
}

func TestVersion(t *testing.T) {
	for _, args := range []string{"-V", "--version", "-V x", "-t 25x -V", "-g -c --version"} {
		if got, want := run(t, strings.Fields(args), []string{"DRAINIT_GRACE=bad"}), (said{0, version(debug.ReadBuildInfo()), ""}); got != want {
			t.Errorf("drainit %s: got %+v, want %+v", args, got, want)
		}
	}
}

func TestNoCommandIsToldOfUsage(t *testing.T) {
	for _, args := range []string{"", "--", "-t 5", "-g --", "--version=false"} {
		want := said{125, "", "drainit: there is no COMMAND to run\n" + usage}
		if got := run(t, strings.Fields(args), []string{noTerminationLog}); got != want {
			t.Errorf("drainit %s: got %+v, want %+v", args, got, want)
		}
	}
}

// Of two mistakes the first one is named, and a missing COMMAND last.
func TestMistakeComesBeforeNoCommand(t *testing.T) {
	want := said{125, "", "drainit: --forward: invalid value \"all\": want auto, group or worker\n"}
	if got := run(t, []string{"--forward", "all"}, []string{noTerminationLog}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// withStderr calls f while descriptor 2 is another file.
func withStderr(t *testing.T, file *os.File, f func()) {
	t.Helper()
	saved, err := unix.FcntlInt(uintptr(unix.Stderr), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(saved)
	if err := unix.Dup3(int(file.Fd()), unix.Stderr, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Dup3(saved, unix.Stderr, 0)
	f()
}

// What drainit says it says itself, to the writers that it was given.
func TestFlagPackagePrintsNothing(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	withStderr(t, file, func() {
		for _, args := range []string{"--help", "--grce 5 y", "-g=maybe", "status --help", "status --bad"} {
			run(t, strings.Fields(args), []string{noTerminationLog})
		}
	})
	if got, err := os.ReadFile(file.Name()); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

// A stop signal may come while the command line is read: it is subscribed to before that,
// whatever the command line says.
func TestStopSignalsAreSubscribedTo(t *testing.T) {
	runtime.LockOSThread() // a signal to this thread has come when tgkill returns
	defer runtime.UnlockOSThread()
	signal.Reset(unix.SIGINT, unix.SIGTERM)
	run(t, []string{"-t", "25x", "x"}, []string{noTerminationLog})
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM} { // it would end this program
		if err := unix.Tgkill(os.Getpid(), unix.Gettid(), sig); err != nil {
			t.Fatal(err)
		}
	}
}

// full is a writer on a device that has no room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestOutputThatCannotBeWrittenFails(t *testing.T) {
	for _, args := range []string{"--help", "--version", "status --help"} {
		var stderr bytes.Buffer
		got := Run(strings.Fields(args), nil, full{}, &stderr)
		if want := (supervisor.Outcome{Status: 125}); got != want || stderr.String() != "drainit: no space left on device\n" {
			t.Errorf("drainit %s: %+v, stderr %q", args, got, stderr.String())
		}
	}
}

// Kubernetes shows the termination log of a container that did not start.
func TestMistakeIsWrittenToTerminationLog(t *testing.T) {
	const unknown = "unknown flag: --grce; drainit --help lists the flags, and COMMAND's own come after COMMAND"
	tests := []struct {
		name string
		args string // FILE is the termination log
		env  string
		want string
	}{
		{"bad value", "--termination-log FILE -t 25x y", "", `--grace: invalid duration "25x": want 25s, 25 (seconds), 0 (kill at once) or infinity`},
		{"bad value before the flag", "-t 25x --termination-log FILE y", "", `--grace: invalid duration "25x": want 25s, 25 (seconds), 0 (kill at once) or infinity`},
		{"bad value, file by variable", "--log-level x y", "DRAINIT_TERMINATION_LOG=FILE", `--log-level: invalid value "x": want error, warn, warning, info or debug`},
		{"unknown flag", "--termination-log FILE --grce 5 y", "", unknown},
		{"unknown flag, file by variable", "--grce 5 y", "DRAINIT_TERMINATION_LOG=FILE", unknown},
		{"unknown flag before a bad value", "--log-level x --grce 5 y", "DRAINIT_TERMINATION_LOG=FILE", unknown},
		{"flags that exclude each other", "-g -c y", "DRAINIT_TERMINATION_LOG=FILE", "-g, -c and --forward say which processes get a signal: give one of them"},
		{"no COMMAND", "-t 5", "DRAINIT_TERMINATION_LOG=FILE", "there is no COMMAND to run"},
		{"what is not printable", "--gr\x1bace y", "DRAINIT_TERMINATION_LOG=FILE", `unknown flag: --gr\x1bace; drainit --help lists the flags, and COMMAND's own come after COMMAND`},
		{"the flag wins over the variable", "--termination-log= -t x y", "DRAINIT_TERMINATION_LOG=FILE", ""},
		{"flag after an unknown one", "--grce --termination-log FILE y", noTerminationLog, ""},
		{"help", "--help", "DRAINIT_TERMINATION_LOG=FILE", ""},
		{"version", "--version", "DRAINIT_TERMINATION_LOG=FILE", ""},
		{"verb", "status --bad", "DRAINIT_TERMINATION_LOG=FILE", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "termination-log")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			place := func(s string) string { return strings.ReplaceAll(s, "FILE", file) }
			run(t, strings.Fields(place(tt.args)), []string{place(tt.env)})
			if got, err := os.ReadFile(file); err != nil || string(got) != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestTerminationLogIsNotMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none")
	want := said{125, "", "drainit: there is no COMMAND to run\n" + usage}
	if got := run(t, []string{"--termination-log", file}, nil); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file: %v", err)
	}
}
