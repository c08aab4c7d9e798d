package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Root has no CAP_SYS_PTRACE in a container of Docker's, so that what another user's
// processes run, read and sleep in is hidden from it. It is known all the same.
func TestWorkerOfAnotherUserInDocker(t *testing.T) {
	needRoot(t)
	need(t, "setpriv", "perl", "bash", "dash", "tee", "timeout")
	tests := []struct {
		name    string
		command []string
		signal  syscall.Signal
		status  int
	}{
		{"a reader of a pipe", []string{"dash", "-c", `perl app.pl | tee log`}, unix.SIGTERM, 7},
		{"a named pipe, and a reader with a handler", []string{"dash", "-c", `mkfifo f; perl -e '$SIG{TERM} = sub { exit }; 1 while <>' <f & perl app.pl >f`}, unix.SIGTERM, 7},
		{"a relay that signals its group", []string{"timeout", "300", "dash", "-c", `perl app.pl; exit $?`}, unix.SIGTERM, 143},
		{"INT to a script", []string{"bash", "start.sh"}, unix.SIGINT, 7},
		{"a shell that waits in the foreground", []string{"dash", "-c", `trap 'exit 3' TERM; perl app.pl; :`}, unix.SIGTERM, 3},
		{"bash that does so", []string{"bash", "-c", `trap 'exit 3' TERM; perl app.pl; :`}, unix.SIGTERM, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := foreignFolder(t)
			in, _ := pipe(t)
			p := launch(t, Launch{Setup: Setup{Docker: true}, Dir: dir, Stdin: in,
				Args: line([]string{"-v", "--grace", "60s"}, append(slices.Clone(asNobody), tt.command...)...)})
			waitUntil(t, "the app is ready", func() bool { return recorded(dir) == "ready\n" })
			p.signal(tt.signal)
			p.wantExit(tt.status)
			if got, want := recorded(dir), "ready\ngot "+strings.TrimPrefix(unix.SignalName(tt.signal), "SIG")+"\ndone\n"; got != want {
				t.Errorf("%q, want %q\n%s", got, want, p.err())
			}
			p.wantLogged(`grace is nearly over`, 0)
			p.wantNothingLeft()
		})
	}
}

// foreignFolder is a folder of that user's with an app that records what happens to it,
// and takes half a second to end.
func foreignFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "drainit-owner-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for name, text := range map[string]string{
		"app.pl": `use strict; $| = 1;
sub note { open my $f, ">>", "record" or die; syswrite $f, "@_\n"; print "@_\n" }
my $end; $SIG{$_} = do { my $s = $_; sub { note("got $s"); $end = time + 1 } } for qw(TERM INT);
$SIG{PIPE} = sub { note("got PIPE") };
note("ready");
select undef, undef, undef, 0.1 until $end && time >= $end;
note("done");
exit 7;
`,
		"start.sh": "#!/bin/bash\nperl app.pl\nexit $?\n",
	} {
		writeFile(t, filepath.Join(dir, name), []byte(text))
	}
	giveToNobody(t, dir)
	return dir
}

func recorded(dir string) string {
	b, _ := os.ReadFile(filepath.Join(dir, "record")) // none yet is an empty one
	return string(b)
}
