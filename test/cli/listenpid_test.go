package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// activated are the arguments of an init that has what systemd gives to a service whose
// sockets it has opened: LISTEN_PID names the init itself, unless another pid is given.
func activated(listenPid string, args ...string) []string {
	return append([]string{"-c", `ulimit -Sn 77; ulimit -Hn 500; export LISTEN_FDS=1 LISTEN_PID="` + listenPid + `"; exec "$@"`, "sh"}, args...)
}

// showsActivation prints what a worker sees of that, and what else a way around might change.
const showsActivation = `
print "LISTEN_PID ", ($ENV{LISTEN_PID} eq $$ ? "is mine" : $ENV{LISTEN_PID}), "\n";
print "LISTEN_FDS $ENV{LISTEN_FDS}\n", "3 is ", readlink("/proc/self/fd/3"), "\n", "4 is ", readlink("/proc/self/fd/4") // "closed", "\n";
print "variables ", join(" ", grep { !/^(LISTEN_PID|DRAINTEST|_$)/ } sort keys %ENV), "\n";
for (["status", qr/^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd|NoNewPrivs)/], ["limits", qr/^Max open files/], ["stat", qr/./]) {
	my ($file, $lines) = @$_;
	open my $f, "<", "/proc/self/$file" or die;
	while (<$f>) {
		if ($file eq "stat") { my @f = split; $_ = "leads its session: " . ($f[5] == $$ ? "yes" : "no") . "\n" }
		print if /$lines/ || $file eq "stat";
	}
}`

// LISTEN_PID that names drainit names the worker in the worker's environment (sd_listen_fds(3)),
// as under catatonit. Descriptors, and all else, come through as without it.
func TestListenPidOfDrainitNamesTheWorker(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		got := activatedWorker(t, noPID1, "$$")
		if !strings.HasPrefix(got, "LISTEN_PID is mine\nLISTEN_FDS 1\n3 is /") {
			t.Errorf("the worker sees\n%s", got)
		}
		_, want, _ := strings.Cut(activatedWorker(t, noPID1, "99999"), "\n")
		if _, got, _ = strings.Cut(got, "\n"); got != want {
			t.Errorf("the worker sees\n%s\nand with another's LISTEN_PID\n%s", got, want)
		}
	})
}

// LISTEN_PID of another process, or that is none, is not drainit's to change.
func TestListenPidOfAnotherIsLeftAlone(t *testing.T) {
	harness.Need(t, "perl")
	for _, pid := range []string{"99999", "", "x", "01", "0", "-1"} {
		t.Run(fmt.Sprintf("%q", pid), func(t *testing.T) {
			t.Parallel()
			if got := activatedWorker(t, false, pid); !strings.HasPrefix(got, "LISTEN_PID "+pid+"\nLISTEN_FDS 1\n") {
				t.Errorf("the worker sees\n%s", got)
			}
		})
	}
}

// activatedWorker is what a worker prints of its activation.
func activatedWorker(t *testing.T, noPID1 bool, listenPid string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "socket")
	harness.WriteFile(t, file, nil)
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Files: []*os.File{f}, Bin: "/bin/sh",
		Args: activated(listenPid, harness.DrainitBin, "--", "perl", "-e", showsActivation)})
	if r.Status != 0 || r.Err != "" || !strings.Contains(r.Out, "3 is "+file+"\n4 is closed\n") {
		t.Errorf("exit status %d, stderr %q, want %s as descriptor 3:\n%s", r.Status, r.Err, file, r.Out)
	}
	return strings.ReplaceAll(r.Out, file, "/socket")
}

// All variables but that one reach the worker as they are.
func TestListenPidChangesNoOtherVariable(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		odd := []string{"EMPTY=", "LINES=a\nb", "EQUALS=a=b", "XLISTEN_PID=1", "LISTEN_PIDS=1", "LISTEN_FDNAMES=a:b", "GOMAXPROCS=1", "GODEBUG=gctrace=0"}
		show := func(bin ...string) []string {
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Env: odd, Bin: "/bin/sh", Args: activated("$$", append(bin, "/bin/cat", "/proc/self/environ")...)})
			all := slices.DeleteFunc(variables(r.Out), func(v string) bool { return strings.HasPrefix(v, "LISTEN_PID=") })
			slices.Sort(all)
			return all
		}
		if got, want := show(harness.DrainitBin, "--"), show(); !slices.Equal(got, want) || len(want) < len(odd) {
			t.Errorf("the worker has\n%q\nwant\n%q", got, want)
		}
	})
}

// What can't be run has the status and the line that it has without LISTEN_PID.
func TestListenPidAndACommandThatCannotBeRun(t *testing.T) {
	dir := harness.CannotRun(t)
	for name, tt := range map[string]struct {
		command string
		status  int
	}{
		"not found":      {"nosuch", 127},
		"no such file":   {dir + "/nosuch", 127},
		"not executable": {dir + "/not-executable", 126},
		"no interpreter": {dir + "/no-interpreter", 126},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				t.Parallel()
				run := func(listenPid string) harness.Ran {
					return harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Env: []string{"PATH=/usr/bin:/bin"},
						Args: activated(listenPid, harness.DrainitBin, "--log-format=text", "--", tt.command)})
				}
				got, want := run("$$"), run("99999")
				if got != want || got.Status != tt.status || got.Out != "" {
					t.Errorf("%+v, want status %d and as without: %+v", got, tt.status, want)
				}
			})
		})
	}
}

// A script without "#!" is run by /bin/sh, which is the process that LISTEN_PID names.
func TestListenPidOfAScriptWithoutAnInterpreter(t *testing.T) {
	script := harness.WriteProgram(t, t.TempDir(), "script", 0o755, "test \"$LISTEN_PID\" = $$ && echo mine\n")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: activated("$$", harness.DrainitBin, "--", script)}).WantQuietRun(t, "mine\n")
	})
}
