package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// settingsTable has, for each setting, every way to give it.
var settingsTable = []struct {
	want  string
	flags [][]string
	env   string
}{
	{"the defaults", [][]string{{}, {"--"}, {"-s"}, {"--forward=auto"}}, "DRAINIT_GRACE="},
	{"--grace 7s", [][]string{{"-t", "7"}, {"-t7"}, {"-t=7s"}, {"--grace", "7s"}, {"--grace=7"}, {"--grace=7000ms"}, {"--grace", "7.0s"}}, "DRAINIT_GRACE=7"},
	{"--grace 1m30s", [][]string{{"-t", "90"}, {"--grace=1m30s"}, {"--grace=1.5m"}}, "DRAINIT_GRACE=90s"},
	{"--grace 0s", [][]string{{"-t", "0"}, {"--grace=0s"}}, "DRAINIT_GRACE=0"},
	{"--grace infinity", [][]string{{"-t", "infinity"}, {"--grace=infinity"}}, "DRAINIT_GRACE=infinity"},
	{"--grace 168h0m0s", [][]string{{"-t", "604800"}, {"--grace=168h"}}, "DRAINIT_GRACE=168h"},
	{"--stop-delay 2s", [][]string{{"--stop-delay", "2"}, {"--stop-delay=2s"}}, "DRAINIT_STOP_DELAY=2s"},
	{"the defaults", [][]string{{}, {"--stop-delay=0"}}, "DRAINIT_STOP_DELAY=0"},
	{"the defaults", [][]string{{}}, "DRAINIT_STOP_SIGNAL="},
	{"--stop-signal SIGQUIT --stop-signal SIGRTMIN+3", [][]string{
		{"--stop-signal", "QUIT", "--stop-signal=RTMIN+3"}, {"--stop-signal=sigquit", "--stop-signal=SIGRTMIN+3"}, {"--stop-signal=3", "--stop-signal=37"},
	}, "DRAINIT_STOP_SIGNAL= QUIT, RTMIN+3"},
	{"the defaults", [][]string{{}, {"--second-stop=force"}}, "DRAINIT_SECOND_STOP="},
	{"--second-stop ignore", [][]string{{"--second-stop", "ignore"}, {"--second-stop=ignore"}}, "DRAINIT_SECOND_STOP=ignore"},
	{"the defaults", [][]string{{}, {"--forward", "auto"}, {"--forward=auto"}}, "DRAINIT_FORWARD=auto"},
	{"--forward group", [][]string{{"-g"}, {"--forward", "group"}, {"--forward=group"}, {"-gvs"}}, "DRAINIT_FORWARD=group"},
	{"--forward worker", [][]string{{"-c"}, {"--forward", "worker"}, {"-cv"}}, "DRAINIT_FORWARD=worker"},
	{"--remap-exit 143 --remap-exit 7", [][]string{{"-e", "143", "-e7"}, {"--remap-exit=143", "--remap-exit", "7"}}, "DRAINIT_REMAP_EXIT=143,7"},
}

func TestEveryWayToGiveASetting(t *testing.T) {
	harness.Usual(t)
	for _, tt := range settingsTable {
		for _, flags := range tt.flags {
			if line := harness.SettingsLine(t, flags, nil); !harness.Settles(line, tt.want) {
				t.Errorf("%q: no %q in %q", flags, tt.want, line)
			}
		}
		if line := harness.SettingsLine(t, nil, []string{tt.env}); !harness.Settles(line, tt.want) {
			t.Errorf("%q: no %q in %q", tt.env, tt.want, line)
		}
	}
}

// settingNames are drainit's settings, by its help, which a test of its own holds to have
// each: the flags above the verbs that take a value, and --forking.
func settingNames(t *testing.T) (names []string) {
	t.Helper()
	flags, _, _ := strings.Cut(harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--help"}}).Out, "\nVerbs")
	for _, m := range regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)( [A-Z])?`).FindAllStringSubmatch(flags, -1) {
		if m[2] != "" || m[1] == "forking" {
			names = append(names, m[1])
		}
	}
	if !slices.Contains(names, "grace") || !slices.Contains(names, "forking") {
		t.Fatalf("the help's flags are %q", names)
	}
	return names
}

// aValue is a value other than the default for each setting, that a worker which is to
// end by itself can have, and what the settings' line says of it.
func aValue(t *testing.T) map[string]struct{ value, shown string } {
	t.Helper()
	health := fmt.Sprintf("127.0.0.1:%d", harness.ReservePort(t))
	report := filepath.Join(t.TempDir(), "none")
	return map[string]struct{ value, shown string }{
		"grace":               {"21s", "--grace 21s"},
		"stop-delay":          {"3s", "--stop-delay 3s"},
		"stop-signal":         {"USR1,RTMIN+3", "--stop-signal SIGUSR1 --stop-signal SIGRTMIN+3"},
		"rewrite":             {"HUP:USR2", "--rewrite SIGHUP:SIGUSR2"},
		"forward":             {"group", "--forward group"},
		"forking":             {"1", "--forking"},
		"second-stop":         {"ignore", "--second-stop ignore"},
		"remap-exit":          {"77,78", "--remap-exit 77 --remap-exit 78"},
		"parent-death-signal": {"QUIT", "--parent-death-signal SIGQUIT"},
		"health-addr":         {health, "--health-addr " + health},
		"termination-log":     {report, "--termination-log=" + report},
		"log-format":          {"text", "drainit: settings: "},
		"log-level":           {"debug", "settings: "},
	}
}

// A setting that -v hides is one that cannot be checked in a running container.
func TestSettingsLineHasAllSettings(t *testing.T) {
	values, defaults := aValue(t), harness.SettingsLine(t, nil, nil)
	for _, name := range settingNames(t) {
		v, ok := values[name]
		if !ok {
			t.Errorf("no value to try for --%s", name)
			continue
		}
		if line := harness.SettingsLine(t, nil, []string{variableOf(name) + "=" + v.value}); !strings.Contains(line, v.shown) {
			t.Errorf("--%s: no %q in %q", name, v.shown, line)
		}
		// The line itself shows these two.
		if needed := name == "log-format" || name == "log-level"; !needed && strings.Contains(defaults, v.shown) {
			t.Errorf("without --%s: %q in %q", name, v.shown, defaults)
		}
	}
	for _, want := range []string{"--termination-log=;", "--rewrite SIGHUP:0"} {
		if line := harness.SettingsLine(t, []string{"--termination-log=", "--rewrite=HUP:0"}, nil); !strings.Contains(line, want) {
			t.Errorf("no %q in %q", want, line)
		}
	}
	if r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"-v", "--", "true"}}); !strings.Contains(r.Err, `"msg":"settings: `) {
		t.Errorf("no JSON line of the settings in %q", r.Err)
	}
}

// variableOf is the environment variable of a setting.
func variableOf(name string) string {
	return "DRAINIT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func TestFlagWinsOverVariable(t *testing.T) {
	harness.Usual(t)
	for _, tt := range []struct {
		flags []string
		env   string
		want  string
	}{
		{[]string{"-t", "7"}, "DRAINIT_GRACE=9", "--grace 7s"},
		{[]string{"-t", "7"}, "DRAINIT_GRACE=nonsense", "--grace 7s"},
		{[]string{"-t", "7", "--grace=8"}, "DRAINIT_GRACE=9", "--grace 8s"},
		{[]string{"-t", "7"}, "OJS_GRACE_PERIOD=9", "--grace 7s"},
		{[]string{"--stop-delay=2"}, "DRAINIT_STOP_DELAY=9", "--stop-delay 2s"},
		{[]string{"--stop-signal=QUIT"}, "DRAINIT_STOP_SIGNAL=USR1,USR2", "--stop-signal SIGQUIT"},
		{[]string{"-e3"}, "DRAINIT_REMAP_EXIT=4,5", "--remap-exit 3"},
		{[]string{"--forward=auto"}, "DRAINIT_FORWARD=group", "the defaults"},
		{[]string{"-g"}, "DRAINIT_FORWARD=worker", "--forward group"},
		{[]string{"-c"}, "DRAINIT_FORWARD=group", "--forward worker"},
		{[]string{"--log-level=debug"}, "DRAINIT_LOG_LEVEL=error", "the defaults"},
		{[]string{"-v"}, "DRAINIT_LOG_LEVEL=error", "the defaults"},
		{[]string{"--log-level=error", "-v"}, "", "the defaults"},
		{[]string{"--log-format=text"}, "DRAINIT_LOG_FORMAT=json", "the defaults"},
	} {
		if line := harness.SettingsLine(t, tt.flags, []string{tt.env}); !harness.Settles(line, tt.want) {
			t.Errorf("%q and %q: no %q in %q", tt.flags, tt.env, tt.want, line)
		}
	}
}

// The worker's own grace and 5 s more, in which it must still fail its jobs.
func TestGraceOfTheOpenJobSpec(t *testing.T) {
	for _, tt := range []struct {
		env  []string
		want string
	}{
		{[]string{"OJS_SHUTDOWN_GRACE_PERIOD=20"}, "--grace 25s"},
		{[]string{"OJS_GRACE_PERIOD=20s"}, "--grace 25s"},
		{[]string{"OJS_SHUTDOWN_TIMEOUT=1m"}, "--grace 1m5s"},
		{[]string{"OJS_SHUTDOWN_TIMEOUT=1", "OJS_GRACE_PERIOD=2", "OJS_SHUTDOWN_GRACE_PERIOD=3"}, "--grace 8s"},
		{[]string{"OJS_SHUTDOWN_TIMEOUT=1", "OJS_GRACE_PERIOD=2"}, "--grace 7s"},
		{[]string{"OJS_SHUTDOWN_TIMEOUT=1", "OJS_GRACE_PERIOD="}, "--grace 6s"},
		{[]string{"OJS_GRACE_PERIOD=infinity"}, "--grace infinity"},
		{[]string{"OJS_GRACE_PERIOD=0"}, "--grace 5s"},
		{[]string{"OJS_GRACE_PERIOD=20", "DRAINIT_GRACE=9"}, "--grace 9s"},
		{[]string{"OJS_GRACE_PERIOD=nonsense", "DRAINIT_GRACE=9"}, "--grace 9s"},
	} {
		if line := harness.SettingsLine(t, nil, tt.env); !harness.Settles(line, tt.want) {
			t.Errorf("%q: no %q in %q", tt.env, tt.want, line)
		}
	}
}

// What settings do where no line tells: every way to give a rewrite.
func TestEveryWayToGiveARewrite(t *testing.T) {
	harness.Usual(t)
	for name, tt := range map[string]struct{ flags, env []string }{
		"short":      {[]string{"-r", "USR1:USR2", "-rHUP:0"}, nil},
		"numbers":    {[]string{"-r", "10:12", "-r", "1:0"}, nil},
		"long":       {[]string{"--rewrite=SIGUSR1:sigusr2", "--rewrite", "hup:0"}, nil},
		"variable":   {nil, []string{"DRAINIT_REWRITE=USR1:USR2,HUP:0"}},
		"flag first": {[]string{"-rUSR1:USR2", "-rHUP:0"}, []string{"DRAINIT_REWRITE=USR1:QUIT,TERM:QUIT"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := harness.Run(t, harness.Launch{NoPID1: true, Env: tt.env, Args: append(tt.flags, harness.WorkerBin, "listen", "-catch", "TERM,HUP,QUIT,USR1,USR2")})
			p.WaitOut(`^ready`)
			p.Signal(syscall.SIGHUP)
			p.Signal(syscall.SIGUSR1)
			p.WaitOut(`^got SIGUSR2`)
			p.Signal(syscall.SIGTERM)
			p.WantExit(0)
			if !strings.HasSuffix(p.Out(), "\ngot SIGUSR2\ngot SIGTERM\ndrained\n") || strings.Count(p.Out(), "got") != 2 {
				t.Errorf("the worker printed %q", p.Out())
			}
		})
	}
}

// -p is of use where drainit is not PID 1: its parent here ends once it has read a line.
func TestParentDeathSignal(t *testing.T) {
	const parent = `"$@" <&- & read line`
	for name, tt := range map[string]struct{ flags, env []string }{
		"short":    {[]string{"-p", "USR1"}, nil},
		"long":     {[]string{"--parent-death-signal=SIGUSR1"}, nil},
		"variable": {nil, []string{"DRAINIT_PARENT_DEATH_SIGNAL=10"}},
	} {
		t.Run(name, func(t *testing.T) {
			stdin, end := harness.Pipe(t)
			command := append(append([]string{"-c", parent, "sh", harness.DrainitBin}, tt.flags...), harness.WorkerBin, "listen", "-catch", "USR1", "-end", "USR1")
			p := harness.Run(t, harness.Launch{NoPID1: true, Bin: "/bin/sh", Env: tt.env, Stdin: stdin, Args: command})
			p.WaitOut(`^ready`)
			end.Close()
			p.WaitOut(`^got SIGUSR1\ndrained`)
			p.WantNothingLeft()
		})
	}
}

// -w is tini's: a line for each orphan, at a level that is on by default.
func TestReapedOrphansAreLogged(t *testing.T) {
	harness.Need(t, "perl")
	const makesOrphan = `$| = 1; if (!fork) { exit if fork; exit 9 } wait; $SIG{TERM} = sub { exit }; print "ready\n"; sleep 1 while 1;`
	for flag, want := range map[string]bool{"-w": true, "-s": false, "-ws": true} {
		t.Run(flag, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{flag, "--log-format=text", "--log-level=warn", "--", "perl", "-e", makesOrphan}})
				p.WaitOut(`^ready`)
				if want {
					p.WaitErr(`^drainit: warning: .*orphan \d+.* 9$`)
				}
				p.Signal(syscall.SIGTERM)
				p.WantExit(0)
				wantOneLineIf(t, want, p.Err())
			})
		})
	}
}

func TestOwnVariablesDoNotReachTheWorker(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Env: append(ownVariables(t), "DRAINIT_PORT=1"), Args: []string{"--", "env"}})
		if got := regexp.MustCompile(`(?m)^DRAINIT_.*$`).FindAllString(r.Out, -1); len(got) != 1 || got[0] != "DRAINIT_PORT=1" {
			t.Errorf("the worker has %q", got)
		}
		if r.Status != 0 || r.Err != "" {
			t.Errorf("exit status %d, stderr %q", r.Status, r.Err)
		}
	})
}

func TestParsingStopsAtTheCommand(t *testing.T) {
	harness.Usual(t)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"sh", "-c", "echo x"}, "x\n"},
		{[]string{"--", "sh", "-c", "echo x"}, "x\n"},
		{[]string{"-t", "5", "sh", "-c", "echo x"}, "x\n"},
		{[]string{"-t5", "--", "echo", "-t", "nonsense"}, "-t nonsense\n"},
		{[]string{"echo", "-v", "--help", "--version", "--grace", "-x", "--nope", "--"}, "-v --help --version --grace -x --nope --\n"},
		{[]string{"--", "echo", "-h", "-V", "--", "-g", "-c"}, "-h -V -- -g -c\n"},
		{[]string{"echo", "status", "quiet"}, "status quiet\n"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: tt.args}).WantQuietRun(t, tt.want)
		})
	}
}

// drainit can take the place of tini and of dumb-init without a change.
func TestSpellingsOfOtherInits(t *testing.T) {
	harness.Usual(t)
	for name, tt := range map[string]struct {
		args []string
		want int
	}{
		"tini, all":                {[]string{"-s", "-g", "-v", "-vvv", "-w", "-e", "143", "-p", "SIGTERM", "--"}, 0},
		"tini, together":           {[]string{"-gvvsw", "-e143", "-pSIGKILL", "--"}, 0},
		"tini, several":            {[]string{"-e", "1", "-e", "143", "-e", "2"}, 0},
		"tini, another status":     {[]string{"-e", "1", "--"}, 143},
		"dumb-init, short":         {[]string{"-c", "-r", "15:3", "-v"}, 143},
		"dumb-init, long":          {[]string{"--single-child", "--rewrite", "15:3", "--rewrite", "2:0", "--verbose", "--"}, 143},
		"docker-init":              {[]string{"--"}, 143},
		"catatonit as podman does": {[]string{"-g", "--"}, 143},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append(tt.args, "sh", "-c", "echo ran; exit 143")})
				if r.Status != tt.want || r.Out != "ran\n" {
					t.Errorf("exit status %d, want %d; stdout %q, stderr %q", r.Status, tt.want, r.Out, r.Err)
				}
			})
		})
	}
}

// 143 after a stop is what platforms take for a failure; 0 is never made another.
func TestRemappedExitStatus(t *testing.T) {
	harness.Usual(t)
	for _, tt := range []struct {
		flags  []string
		env    string
		script string
		want   int
	}{
		{[]string{"-e", "143"}, "", "kill -TERM $$", 0},
		{[]string{"--remap-exit=143"}, "", "exit 143", 0},
		{[]string{"-e3", "-e", "4", "--remap-exit", "5"}, "", "exit 4", 0},
		{[]string{"-e3", "-e", "4", "--remap-exit", "5"}, "", "exit 6", 6},
		{[]string{"-e3"}, "", "exit 0", 0},
		{[]string{"-e0"}, "", "exit 0", 0},
		{[]string{"-e0"}, "", "exit 1", 1},
		{[]string{"-e255"}, "", "exit 255", 0},
		{nil, "DRAINIT_REMAP_EXIT=1,143", "exit 143", 0},
		{nil, "DRAINIT_REMAP_EXIT=1,143", "exit 2", 2},
		{nil, "", "exit 143", 143},
	} {
		harness.BothModes(t, func(t *testing.T, noPID1 bool) {
			l := harness.Launch{NoPID1: noPID1, Env: []string{tt.env}, Args: append(tt.flags, "--", "sh", "-c", tt.script)}
			if r := harness.RunToEnd(t, l); r.Status != tt.want {
				t.Errorf("%q %q %q: exit status %d, want %d", tt.flags, tt.env, tt.script, r.Status, tt.want)
			}
		})
	}
}

// What a worker left and drainit had to kill is lost, whichever way the worker ended.
func TestRemappedExitStatusHidesNoKill(t *testing.T) {
	harness.Need(t, "perl")
	for flag, want := range map[string]int{"-e143": 137, "-e137": 143, "-e143,137": 0} {
		t.Run(flag, func(t *testing.T) {
			harness.WaitingModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Env: []string{"DRAINIT_REMAP_EXIT=" + strings.TrimPrefix(flag, "-e")},
					Args: harness.Line([]string{"--grace", "2s"}, harness.Script(`spawn { $SIG{TERM} = "IGNORE"; say "ready"; forever }; forever`)...)})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTERM)
				p.WantExit(want)
				p.WantLogged(`killed `, 1)
			})
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for want, ways := range map[string][][]string{
		`(?s)^drainit runs COMMAND.*--grace DUR.*--rewrite FROM:TO.*Exit status.*\n$`: {{"--help"}, {"-h"}, {"-h", "true"}, {"-g", "--help", "--nope"}, {"-vh"}},
		`^drainit [^\n]+ - git\.[0-9a-z]{7}\n$`:                                       {{"--version"}, {"-V"}, {"-V", "--", "false"}, {"-V", "--grace=soon"}, {"-c", "-r", "15:3", "-v", "-V"}},
	} {
		for _, args := range ways {
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: args})
			if !regexp.MustCompile(want).MatchString(r.Out) || r.Status != 0 || r.Err != "" {
				t.Errorf("%q: exit status %d, stdout %q, stderr %q", args, r.Status, r.Out, r.Err)
			}
		}
	}
}

func TestHelpThatCannotBeReadFails(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, flag := range []string{"--help", "--version"} {
		p := harness.Run(t, harness.Launch{NoPID1: true, Stdout: full, Args: []string{flag}})
		p.WantExit(125)
		p.WantLogged(`^drainit: write .*: no space left on device$`, 1)
	}
}

func TestNoCommandShowsTheUsage(t *testing.T) {
	harness.Usual(t)
	for _, args := range [][]string{{}, {"--"}, {"-v"}, {"-g", "-t", "5"}, {"-t5", "--"}} {
		harness.BothModes(t, func(t *testing.T, noPID1 bool) {
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: args})
			if r.Status != 125 || r.Out != "" || !strings.HasPrefix(r.Err, "drainit: there is no COMMAND to run\nusage: drainit [flags] -- COMMAND") {
				t.Errorf("%q: exit status %d, stdout %q, stderr %q", args, r.Status, r.Out, r.Err)
			}
		})
	}
}
