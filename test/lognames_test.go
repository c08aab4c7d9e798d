package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// hostileNames are what a process may call itself, at most 15 bytes, and how a
// line may show that. Each begins or ends a line, moves a cursor, colours a
// terminal, breaks a JSON string or turns the text around.
var hostileNames = map[string]string{
	"newline":       "\ndrainit: FORGE",
	"CR and escape": "\r\x1b[2J\x1b[31mX\a\b",
	"JSON":          `","level":"x",`,
	"not UTF-8":     "\xff\xfe\x80\xc3(\xe2\x28\xa1",
	"C1 controls":   "\u009b31m\u0085x",
	"right to left": "a\u202eb\u2028c\u200dd",
	"one rune cut":  "aaaaaaaaaaaa\xe2\x82\xac",
	"backslashes":   `a\nb\x1b\\`,
	"braces":        "a) S 1 (b\t\x7f[9]",
}

// renamed is a worker that calls itself by the second argument, the first being
// the number of prctl(2): $0 = would overwrite the harness's marker. It handles
// TSTP and ignores TERM. With a file as the third one a child does, and the
// worker exits when the child has made the file.
const renamed = `$| = 1; my ($prctl, $name, $leave) = map { /(.*)/s } @ARGV; # untainted
	if ($leave && fork) { select undef, undef, undef, 0.01 until -e $leave; exit 3 }
	$SIG{TERM} = "IGNORE"; $SIG{TSTP} = sub { print "quiet\n" }; $SIG{CONT} = sub { print "on\n" };
	my $set = 15; syscall($prctl + 0, $set, "$name\0", 0, 0, 0) == 0 or die $!;
	if ($leave) { open my $f, ">", $leave; close $f } else { print "ready\n" }
	sleep 1 while 1;`

var prctl = strconv.Itoa(unix.SYS_PRCTL)

// wantUnforged checks a log that names a process which calls itself this.
func wantUnforged(t *testing.T, log, format string) {
	t.Helper()
	if format == "json" {
		jsonLines(t, log) // checks every line
	}
	for _, line := range linesOf(log) {
		wantPrintable(t, line)
		if format == "text" && !strings.HasPrefix(line, "drainit:") || strings.HasPrefix(line, "drainit: FORGE") {
			t.Errorf("not a line of drainit's: %q", line)
		}
	}
}

// Each line that can name a process does so with one that chose its name to do harm.
func TestNameOfAProcessForgesNoLine(t *testing.T) {
	need(t, "perl")
	for title, name := range hostileNames {
		for _, format := range []string{"json", "text"} {
			t.Run(title+" "+format, func(t *testing.T) {
				t.Parallel()
				p := launch(t, Launch{Args: []string{"-v", "--grace=300ms", "--log-format=" + format, "--", "perl", "-e", renamed, prctl, name}})
				p.waitOut(`^ready`)
				p.signal(syscall.SIGTSTP)
				p.waitOut(`^quiet`)
				p.signal(syscall.SIGCONT)
				p.waitOut(`^on`)
				p.signal(syscall.SIGTERM)
				p.wantExit(137)
				if n := len(linesOf(p.err())); n != len(lifeLines) {
					t.Errorf("%d lines, want %d", n, len(lifeLines))
				}
				wantUnforged(t, p.err(), format)
			})
		}
	}
}

func TestNameOfALeftoverForgesNoLine(t *testing.T) {
	need(t, "perl")
	for title, name := range hostileNames {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			bothModes(t, func(t *testing.T, noPID1 bool) {
				flag := filepath.Join(t.TempDir(), "flag")
				p := launch(t, Launch{NoPID1: noPID1, Args: []string{"-vw", "--grace=300ms", "--log-format=text", "--", "perl", "-e", renamed, prctl, name, flag}})
				p.wantExit(3)
				wantUnforged(t, p.err(), "text")
				for _, want := range []string{`perl\[\d+\] exited with status 3 and left 1 process \(`, `sent SIGTERM to .*: `, `grace period of 300ms over: killing `, `; killed `} {
					if !regexp.MustCompile(want).MatchString(p.err()) {
						t.Errorf("no %q in:\n%s", want, p.err())
					}
				}
			})
		})
	}
}

// The name of the command's file is as free as a comm.
func TestNameOfTheCommandForgesNoLine(t *testing.T) {
	name := "a\ndrainit: FORGED\x1b[31m"
	for title, tt := range map[string]struct {
		mode   os.FileMode
		path   string // "": by PATH
		status int
	}{
		"runs":                     {0o755, "./" + name, 4},
		"runs, by PATH":            {0o755, name, 4},
		"not executable":           {0o644, "./" + name, 126},
		"not executable, by PATH":  {0o644, name, 126},
		"not found":                {0o644, "./no" + name, 127},
		"no such command, by PATH": {0o644, "no" + name, 127},
	} {
		t.Run(title, func(t *testing.T) {
			dir := t.TempDir()
			writeProgram(t, dir, name, tt.mode, "#!/bin/sh\nexit 4\n")
			for _, format := range []string{"text", "json"} {
				r := runToEnd(t, Launch{NoPID1: true, Dir: dir, Env: []string{"PATH=" + dir}, Args: []string{"-v", "--log-format=" + format, "--", tt.path}})
				if r.status != tt.status {
					t.Errorf("exit status %d, want %d", r.status, tt.status)
				}
				wantUnforged(t, r.err, format)
			}
		})
	}
}

// A process that may not be killed is named too, by another line than those above.
func TestNameOfAnUnkillableProcessForgesNoLine(t *testing.T) {
	need(t, "perl")
	if os.Getuid() != 0 {
		skip(t, "needs to be root, to make a set-uid program")
	}
	t.Parallel()
	const nobody = 65534
	perl := setUID(t, pathOf(t, "perl"))
	p := launch(t, Launch{NoPID1: true, Setup: Setup{UID: nobody}, Args: []string{"-v", "--grace=300ms", "--log-format=text", "--",
		perl, "-e", `$< = $> = 0; ` + renamed, prctl, hostileNames["newline"]}})
	p.waitOut(`^ready`)
	p.signal(syscall.SIGTERM)
	p.wantExit(137)
	for _, pid := range p.alive() { // it holds the log open
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	wantUnforged(t, p.err(), "text")
	for _, want := range []string{`cannot send SIGTERM to `, `cannot kill `, `leaving .* still alive: `} {
		if !regexp.MustCompile(want).MatchString(p.err()) {
			t.Errorf("no %q in:\n%s", want, p.err())
		}
	}
}

// setUID makes a copy of a program that runs as root whatever user starts it.
func setUID(t *testing.T, program string) string {
	t.Helper()
	dir := filepath.Dir(workerBin) // others may enter it, but not t.TempDir()
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || fs.Flags&unix.ST_NOSUID != 0 {
		skip(t, "needs a file system without nosuid for temporary files")
	}
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	path := writeProgram(t, dir, "setuid-perl", 0o755|os.ModeSetuid, string(b))
	t.Cleanup(func() { os.Remove(path) })
	return path
}

// Arguments hold secrets: whatever is logged of a process, they are not.
func TestArgumentsAreNeverLogged(t *testing.T) {
	need(t, "perl")
	for name, args := range map[string][]string{
		"whole life": {"perl", "-e", renamed, prctl, "comm", "", "--password=hunter2"},
		"not found":  {"no-such-command", "--password=hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, noPID1 bool) {
				p := launch(t, Launch{NoPID1: noPID1, Env: []string{"PASSWORD=hunter2"}, Args: append([]string{"-vw", "--grace=300ms", "--"}, args...)})
				if name == "whole life" {
					p.waitOut(`^ready`)
					p.signal(syscall.SIGTERM)
				}
				p.wait()
				if p.err() == "" || strings.Contains(p.err(), "hunter2") {
					t.Errorf("stderr: %s", p.err())
				}
			})
		})
	}
}
