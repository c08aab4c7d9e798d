package logging

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"drainit/test/harness"
)

// wantUnforged checks a log that names a process which calls itself this. Arguments and the
// environment hold secrets: whatever is logged of a process, they are not.
func wantUnforged(t *testing.T, log, format string) {
	t.Helper()
	if format == "json" {
		harness.JsonLines(t, log) // checks every line
	}
	for _, line := range harness.LinesOf(log) {
		harness.WantPrintable(t, line)
		if format == "text" && !strings.HasPrefix(line, "drainit:") ||
			strings.HasPrefix(line, "drainit: FORGE") || strings.Contains(line, secret) {
			t.Errorf("not a line of drainit's, or a secret: %q", line)
		}
	}
}

// Each line that can name a process does so with one that chose its name to do harm.
func TestNameOfAProcessForgesNoLine(t *testing.T) {
	for title, name := range harness.HostileNames {
		for _, format := range []string{"json", "text"} {
			t.Run(title+" "+format, func(t *testing.T) {
				t.Parallel()
				p := harness.Run(t, harness.Launch{Env: []string{"PASSWORD=" + secret}, Args: harness.Line(
					[]string{"-v", "--grace=300ms", "--log-format=" + format},
					harness.Renamed(name, "", "--password="+secret)...)})
				p.WaitOut(`^ready`)
				p.Signal(syscall.SIGTSTP)
				p.WaitOut(`^quiet`)
				p.Signal(syscall.SIGCONT)
				p.WaitOut(`^on`)
				p.Signal(syscall.SIGTERM)
				p.WantExit(137)
				if n := len(harness.LinesOf(p.Err())); n != len(lifeLines)+1 { // it ignores TERM
					t.Errorf("%d lines, want %d", n, len(lifeLines)+1)
				}
				wantUnforged(t, p.Err(), format)
			})
		}
	}
}

// So do the lines of a leftover.
func TestNameOfALeftoverForgesNoLine(t *testing.T) {
	t.Parallel()
	flag := filepath.Join(t.TempDir(), "flag")
	p := harness.Run(t,
		harness.Launch{Args: harness.Line([]string{"-vw", "--grace=300ms", "--log-format=text"},
			harness.Renamed(harness.HostileNames["newline"], flag)...)})
	p.WantExit(3)
	wantUnforged(t, p.Err(), "text")
	for _, want := range []string{`perl\[\d+\] exited with status 3 and left 1 process \(`,
		`sent SIGTERM to .*: `, `grace period of 300ms over: killing `, `; killed `} {
		p.WantLogged(want, 1)
	}
}

// The name of the command's file is as free as a comm.
func TestNameOfTheCommandForgesNoLine(t *testing.T) {
	name := "a\ndrainit: FORGED\x1b[31m"
	dir := t.TempDir()
	harness.WriteProgram(t, dir, name, 0o755, "#!/bin/sh\nexit 4\n")
	harness.WriteProgram(t, dir, name+"2", 0o644, "")
	for path, status := range map[string]int{"./" + name: 4, name: 4, "./" + name + "2": 126,
		"./no" + name: 127, "no" + name: 127} {
		for _, format := range []string{"text", "json"} {
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Dir: dir, Env: []string{"PATH=" + dir},
				Args: []string{"-v", "--log-format=" + format, "--", path, "--password=" + secret}})
			if r.Status != status {
				t.Errorf("%q: exit status %d, want %d", path, r.Status, status)
			}
			wantUnforged(t, r.Err, format)
		}
	}
}
