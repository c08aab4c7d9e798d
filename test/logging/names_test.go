package logging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// wantUnforged checks a log that names a process which calls itself this.
func wantUnforged(t *testing.T, log, format string) {
	t.Helper()
	if format == "json" {
		harness.JsonLines(t, log) // checks every line
	}
	for _, line := range harness.LinesOf(log) {
		harness.WantPrintable(t, line)
		if format == "text" && !strings.HasPrefix(line, "drainit:") || strings.HasPrefix(line, "drainit: FORGE") {
			t.Errorf("not a line of drainit's: %q", line)
		}
	}
}

// Each line that can name a process does so with one that chose its name to do harm.
func TestNameOfAProcessForgesNoLine(t *testing.T) {
	harness.Need(t, "perl")
	for title, name := range harness.HostileNames {
		for _, format := range []string{"json", "text"} {
			t.Run(title+" "+format, func(t *testing.T) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{Args: []string{"-v", "--grace=300ms", "--log-format=" + format, "--", "perl", "-e", harness.Renamed, harness.Prctl, name}})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTSTP)
				p.WaitOut(`^quiet`)
				p.Signal(syscall.SIGCONT)
				p.WaitOut(`^on`)
				p.Signal(syscall.SIGTERM)
				p.WantExit(137)
				if n := len(harness.LinesOf(p.Err())); n != len(lifeLines) {
					t.Errorf("%d lines, want %d", n, len(lifeLines))
				}
				wantUnforged(t, p.Err(), format)
			})
		}
	}
}

func TestNameOfALeftoverForgesNoLine(t *testing.T) {
	harness.Need(t, "perl")
	for title, name := range harness.HostileNames {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				flag := filepath.Join(t.TempDir(), "flag")
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Args: []string{"-vw", "--grace=300ms", "--log-format=text", "--", "perl", "-e", harness.Renamed, harness.Prctl, name, flag}})
				p.WantExit(3)
				wantUnforged(t, p.Err(), "text")
				for _, want := range []string{`perl\[\d+\] exited with status 3 and left 1 process \(`, `sent SIGTERM to .*: `, `grace period of 300ms over: killing `, `; killed `} {
					if !regexp.MustCompile(want).MatchString(p.Err()) {
						t.Errorf("no %q in:\n%s", want, p.Err())
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
			harness.WriteProgram(t, dir, name, tt.mode, "#!/bin/sh\nexit 4\n")
			for _, format := range []string{"text", "json"} {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Dir: dir, Env: []string{"PATH=" + dir}, Args: []string{"-v", "--log-format=" + format, "--", tt.path}})
				if r.Status != tt.status {
					t.Errorf("exit status %d, want %d", r.Status, tt.status)
				}
				wantUnforged(t, r.Err, format)
			}
		})
	}
}

// A process that may not be killed is named too, by another line than those above.
func TestNameOfAnUnkillableProcessForgesNoLine(t *testing.T) {
	harness.Full(t) // it is waited for
	harness.Need(t, "perl")
	t.Parallel()
	perl := harness.SetUIDCopy(t, harness.PathOf(t, "perl"))
	p := harness.Run(t, harness.Launch{NoPID1: true, Setup: harness.Setup{UID: harness.PlainUser}, Args: []string{"-v", "--grace=300ms", "--log-format=text", "--",
		perl, "-e", `$< = $> = 0; ` + harness.Renamed, harness.Prctl, harness.HostileNames["newline"]}})
	p.WaitOut(`^ready`)
	p.Signal(syscall.SIGTERM)
	p.WantExit(137)
	p.KillAlive() // what is left holds the log open
	wantUnforged(t, p.Err(), "text")
	for _, want := range []string{`cannot send SIGTERM to `, `cannot kill `, `leaving .* still alive: `} {
		if !regexp.MustCompile(want).MatchString(p.Err()) {
			t.Errorf("no %q in:\n%s", want, p.Err())
		}
	}
}

// Arguments hold secrets: whatever is logged of a process, they are not.
func TestArgumentsAreNeverLogged(t *testing.T) {
	harness.Need(t, "perl")
	for name, args := range map[string][]string{
		"whole life": {"perl", "-e", harness.Renamed, harness.Prctl, "comm", "", "--password=hunter2"},
		"not found":  {"no-such-command", "--password=hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				p := harness.Run(t, harness.Launch{NoPID1: noPID1, Env: []string{"PASSWORD=hunter2"}, Args: append([]string{"-vw", "--grace=300ms", "--"}, args...)})
				if name == "whole life" {
					p.WaitOut(`^ready`)
					p.Signal(syscall.SIGTERM)
				}
				p.Wait()
				if p.Err() == "" || strings.Contains(p.Err(), "hunter2") {
					t.Errorf("stderr: %s", p.Err())
				}
			})
		})
	}
}
