package cli

import (
	"os"
	"path/filepath"
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
for (["status", qr/^(Sig(Blk|Ign|Cgt|Pnd)|ShdPnd|NoNewPrivs)/], ["limits", qr/^Max open files/], ["stat", qr/./]) {
	my ($file, $lines) = @$_;
	open my $f, "<", "/proc/self/$file" or die;
	while (<$f>) {
		if ($file eq "stat") { my @f = split; $_ = "leads its session: " . ($f[5] == $$ ? "yes" : "no") . "\n" }
		print if /$lines/ || $file eq "stat";
	}
}`

// LISTEN_PID that names drainit names the worker in the worker's environment (sd_listen_fds(3)),
// as under catatonit. Descriptors, and all else, come through as without it. That of another
// process is not drainit's to change.
func TestListenPidOfDrainitNamesTheWorker(t *testing.T) {
	harness.Need(t, "perl")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		got, rest, _ := strings.Cut(activatedWorker(t, noPID1, "$$"), "\n")
		other, want, _ := strings.Cut(activatedWorker(t, noPID1, "01"), "\n")
		if got != "LISTEN_PID is mine" || other != "LISTEN_PID 01" || rest != want || !strings.HasPrefix(rest, "LISTEN_FDS 1\n3 is /") {
			t.Errorf("the worker sees\n%s\n%s\nand with another's LISTEN_PID\n%s\n%s", got, rest, other, want)
		}
	})
}

// activatedWorker is what a worker prints of its activation.
func activatedWorker(t *testing.T, noPID1 bool, listenPid string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "socket")
	harness.WriteFile(t, file, "")
	f, err := os.Open(file)
	harness.Must(t, err)
	defer f.Close()
	r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Files: []*os.File{f}, Bin: "/bin/sh",
		Args: activated(listenPid, harness.DrainitBin, "--", "perl", "-e", showsActivation)})
	if r.Status != 0 || r.Err != "" || !strings.Contains(r.Out, "3 is "+file+"\n4 is closed\n") {
		t.Errorf("exit status %d, stderr %q, want %s as descriptor 3:\n%s", r.Status, r.Err, file, r.Out)
	}
	return strings.ReplaceAll(r.Out, file, "/socket")
}

// What can't be run has the status and the line that it has without LISTEN_PID. A script without
// "#!" is run by /bin/sh, which is the process that LISTEN_PID names.
func TestListenPidAndWhatIsNoProgram(t *testing.T) {
	lost := harness.WriteProgram(t, t.TempDir(), "no-interpreter", 0o755, "#!/nowhere\n")
	script := harness.WriteProgram(t, t.TempDir(), "script", 0o755, "test \"$LISTEN_PID\" = $$ && echo mine\n")
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		t.Parallel()
		run := func(listenPid, command string) harness.Ran {
			args := activated(listenPid, harness.DrainitBin, "--log-format=text", "--log-level=error", "--", command)
			return harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: args})
		}
		if got, want := run("$$", lost), run("99999", lost); got != want || got.Status != 126 || got.Err == "" {
			t.Errorf("%+v, want status 126 and as without: %+v", got, want)
		}
		run("$$", script).WantQuietRun(t, "mine\n")
	})
}
