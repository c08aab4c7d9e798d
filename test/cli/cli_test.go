package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// What comes of a command line, to the exit status. What each flag means is tested in
// internal/cli.
func TestCommandLines(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	for _, row := range rows.Read(t, "testdata/commands.tsv", 5) {
		t.Run(row[0], func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				args := harness.Words(strings.Replace(row[0], "MADE", made, 1))
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Env: []string{row[1]}, Args: args})
				if fmt.Sprint(r.Status) != row[2] || !harness.Matches(row[3], r.Out) ||
					!harness.Matches(row[4], r.Err) {
					t.Errorf("%+v, want %q", r, row[2:])
				}
			})
		})
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("a command has been started after a mistake")
	}
}

// aValue has for each setting a value that a worker which is to end by itself can have.
func aValue(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"grace":               "infinity",
		"stop-delay":          "3s",
		"stop-signal":         "USR1",
		"rewrite":             "HUP:USR2",
		"forward":             "group",
		"forking":             "1",
		"second-stop":         "ignore",
		"remap-exit":          "77",
		"parent-death-signal": "QUIT",
		"health-addr":         fmt.Sprintf("127.0.0.1:%d", harness.ReservePort(t)),
		"ready-port":          strconv.Itoa(harness.ReservePort(t)),
		"log-format":          "json",
		"log-level":           "debug",
	}
}

// variableOf is the environment variable of a setting.
func variableOf(name string) string {
	return "DRAINIT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// A setting that -v hides is one that cannot be checked in a running container. The settings are
// those of the help above the subcommands: the flags that take a value, but --install, and --forking.
func TestSettingsLineHasAllSettings(t *testing.T) {
	values := aValue(t)
	help := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--help"}}).Out
	flags, _, _ := strings.Cut(help, "\nSubcommands")
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)( [A-Z])?`).
		FindAllStringSubmatch(flags, -1) {
		if name := m[1]; m[2] != "" && name != "install" || name == "forking" {
			given := variableOf(name) + "=" + values[name]
			if values[name] == "" {
				t.Errorf("--%s has no value in aValue", name)
			}
			delete(values, name)
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"true"},
				Env: []string{"DRAINIT_LOG_LEVEL=debug", given}})
			if !regexp.MustCompile(`"msg":"settings: (.* )?` + given + "[ ;]").MatchString(r.Err) {
				t.Errorf("--%s: no %q in %q", name, given, r.Err)
			}
		}
	}
	if len(values) > 0 {
		t.Errorf("aValue has values of no setting: %v", values)
	}
	for given, l := range map[string]harness.Launch{
		"--grace=168h":                {Args: []string{"-t", "168h"}},
		"OJS_GRACE_PERIOD=20 plus 4s": {Env: []string{"OJS_GRACE_PERIOD=20"}},
	} {
		l.NoPID1, l.Args, l.Env = true, append(l.Args, "true"), append(l.Env, "DRAINIT_LOG_LEVEL=debug",
			"DRAINIT_LOG_FORMAT=text")
		r := harness.RunToEnd(t, l)
		want := "\ndrainit: settings: " + given + " DRAINIT_LOG_FORMAT=text DRAINIT_LOG_LEVEL=debug; pid "
		if r.Status != 0 || r.Out != "" || !strings.Contains("\n"+r.Err, want) {
			t.Errorf("%+v, want %q", r, want)
		}
	}
}

// -p is of use where drainit is not PID 1: its parent here ends once it has read a line.
func TestParentDeathSignal(t *testing.T) {
	stdin, end := harness.Pipe(t)
	p := harness.Run(t, harness.Launch{NoPID1: true, Stdin: stdin,
		Under: []string{"/bin/sh", "-c", `"$0" "$@" <&- & read line`},
		Args:  harness.Words("-p USR1 WORKER listen -catch USR1 -end USR1")})
	p.WaitOut(`^ready`)
	end.Close()
	p.WaitOut(`^got SIGUSR1\ndrained`)
	p.WantNothingLeft()
}

// wantOneLineIf checks for one line of drainit's, or for none.
func wantOneLineIf(t *testing.T, want bool, stderr string) {
	t.Helper()
	lines := strings.Count(stderr, "\n")
	if !want && stderr != "" || want && (lines != 1 || !strings.HasSuffix(stderr, "\n")) {
		t.Errorf("stderr has %d lines: %q", lines, stderr)
	}
}

// What is not read must not keep a container that can't start from ending.
func TestMistakeThatIsNotReadEndsDrainit(t *testing.T) {
	harness.Usual(t)
	for _, args := range []string{"--grace=soon true", "", "status --bogus"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			verb := strings.HasPrefix(args, "st")
			for name, l := range harness.BadStderr(t) {
				if verb && name == "a broken pipe" {
					continue // a verb dies of SIGPIPE, as any program that is asked
				}
				l.NoPID1, l.Args = verb, strings.Fields(args)
				if got := harness.Run(t, l).Wait(); got != 125 {
					t.Errorf("stderr is %s: exit status %d, want 125", name, got)
				}
			}
		})
	}
}

// A verb has found what it says by then.
func TestAnswerThatIsNotReadEndsAVerb(t *testing.T) {
	t.Parallel()
	harness.NeedAsk(t)
	p := harness.Run(t, harness.Launch{Args: harness.Words("--grace=10m -- WORKER listen -drain 1h")})
	p.WaitReady()
	harness.Run(t, harness.Launch{NoPID1: true, Under: p.Entering(0, ""),
		Args: []string{"resume", "--pid", "2"}, Stderr: harness.FullPipe(t)}).WantExit(125)
}

// A build for another system ends with one error, which is the reason.
func TestOtherSystemsAreRefused(t *testing.T) {
	for _, system := range []string{"darwin", "windows"} {
		cmd := exec.Command("go", "build", "-o", os.DevNull, ".")
		cmd.Dir, cmd.Env = harness.Repo(), append(os.Environ(), "GOOS="+system)
		out, err := cmd.CombinedOutput()
		if !regexp.MustCompile(`\Apackage drainit\n\timports drainit/internal/needslinux: build ` +
			`constraints exclude all Go files in [^\n]+\n\z`).Match(out) {
			t.Errorf("%s: %v\n%s", system, err, out)
		}
	}
}
