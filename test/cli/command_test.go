package cli

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"drainit/test/harness"
)

// Programs that say who they are and what they were given. Where execvp(3) runs
// "tool" for an empty element of PATH, drainit may as well run "./tool".
const (
	withShebang    = "#!/bin/sh\n" + withoutShebang
	withoutShebang = `printf '%s|' "${0#./}" "$@"` + "\n"
)

// place is a file, or with mode os.ModeDir a folder, for a lookup to find.
type place struct {
	name, content string
	mode          os.FileMode
}

// makePlaces makes a folder with these places and returns its path.
func makePlaces(t *testing.T, all []place) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	harness.Must(t, err)
	for _, p := range all {
		dir := filepath.Dir(filepath.Join(root, p.name))
		if p.mode.IsDir() {
			dir = filepath.Join(root, p.name)
		}
		harness.Must(t, os.MkdirAll(dir, 0o755))
		if !p.mode.IsDir() {
			harness.WriteProgram(t, root, p.name, p.mode, p.content)
		}
	}
	return root
}

// lookups are commands and where PATH, "R" being the folder with the places,
// finds them. All go as env(1) does it, which uses execvp(3).
var lookups = map[string]struct {
	places  []place
	path    string // "-": not set
	command string
	status  int
	out     string
}{
	"in the first folder":               {[]place{{"a/tool", withShebang, 0o755}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/a/tool|x|y z|"},
	"behind a file without x":           {[]place{{"a/tool", withShebang, 0o644}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind a folder":                   {[]place{{"a/tool", "", os.ModeDir}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind a missing interpreter":      {[]place{{"a/tool", "#!/no/such\n", 0o755}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind what is no folder":          {[]place{{"a", "", 0o755}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"without #!":                        {[]place{{"a/tool", withoutShebang, 0o755}}, "R/a", "tool", 0, "R/a/tool|x|y z|"},
	"without #!, by its path":           {[]place{{"a/tool", withoutShebang, 0o755}}, "R/b", "a/tool", 0, "a/tool|x|y z|"},
	"an empty file":                     {[]place{{"a/tool", "", 0o755}}, "R/a", "tool", 0, ""},
	"empty element":                     {[]place{{"tool", withShebang, 0o755}, {"b/tool", withShebang, 0o755}}, ":R/b", "tool", 0, "tool|x|y z|"},
	"empty PATH":                        {[]place{{"tool", withShebang, 0o755}}, "", "tool", 0, "tool|x|y z|"},
	"the working directory is not PATH": {[]place{{"tool", withShebang, 0o755}}, "R/a", "tool", 127, ""},
	"no PATH":                           {nil, "-", "echo", 0, "x y z\n"},
	"no PATH and not there":             {[]place{{"tool", withShebang, 0o755}}, "-", "tool", 127, ""},
	"a path goes by PATH never":         {[]place{{"a/b/tool", withShebang, 0o755}}, "R/a", "b/tool", 127, ""},
	"without x only":                    {[]place{{"a/tool", withShebang, 0o644}}, "R/a:R/b", "tool", 126, ""},
	"a folder only":                     {[]place{{"a/tool", "", os.ModeDir}}, "R/a:R/b", "tool", 126, ""},
}

func TestCommandIsFoundAsByExecvp(t *testing.T) {
	harness.Need(t, "env")
	for name, tt := range lookups {
		t.Run(name, func(t *testing.T) {
			root := makePlaces(t, tt.places)
			given := []string{"PATH=" + strings.ReplaceAll(tt.path, "R", root)}
			if tt.path == "-" {
				given = []string{"-u", "PATH"}
			}
			run := func(command ...string) harness.Ran {
				command = append(command, tt.command, "x", "y z")
				return harness.RunToEnd(t, harness.Launch{Bin: "/usr/bin/env", Dir: root, NoPID1: true, Args: append(given[:len(given):len(given)], command...)})
			}
			want, got := run(), run(harness.DrainitBin, "--")
			if want.Status != tt.status || want.Out != strings.ReplaceAll(tt.out, "R", root) {
				t.Fatalf("env itself: status %d, want %d, stdout %q, stderr %q", want.Status, tt.status, want.Out, want.Err)
			}
			if got.Status != want.Status || got.Out != want.Out {
				t.Errorf("status %d, stdout %q\nwant   %d, stdout %q\nstderr %q", got.Status, got.Out, want.Status, want.Out, got.Err)
			}
			wantOneLineIf(t, got.Status != 0, got.Err)
		})
	}
}

// foreignBinary is the test's worker as if for a machine that does not exist.
func foreignBinary(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(harness.WorkerBin)
	harness.Must(t, err)
	const machine = 18 // offset of e_machine, elf(5)
	binary.NativeEndian.PutUint16(b[machine:], 0x7ead)
	return string(b)
}

// What can't be run is distinguished, by the exit status for programs and by a line for people,
// which has no argument of the command.
func TestCommandThatCannotRunIsExplained(t *testing.T) {
	harness.Usual(t)
	root := makePlaces(t, []place{
		{"interpreter", "#!/no/such/interpreter\n", 0o755}, {"crlf", "#!/bin/sh\r\n:\r\n", 0o755}, {"env", "#!/usr/bin/env\r\n", 0o755}, {"short", "#!/bin/sh\r", 0o755}, {"foreign", foreignBinary(t), 0o755}, {"plain", withShebang, 0o644}, {"folder", "", os.ModeDir},
	})
	for command, tt := range map[string]struct {
		status int
		says   string // after the command, of which R is the folder
	}{
		"R/interpreter":   {126, "R/interpreter exists, but not the interpreter (#!) or loader that it names: no such file or directory"},
		"R/crlf":          {126, "R/crlf ends its first line with a carriage return: save it with Unix line ends"},
		"crlf":            {126, "R/crlf ends its first line with a carriage return: save it with Unix line ends"},
		"R/env":           {126, "R/env ends its first line with a carriage return: save it with Unix line ends"},
		"R/short":         {126, "R/short ends its first line with a carriage return: save it with Unix line ends"},
		"node app.js":     {127, "there is no such file; it has a blank, and each argument is a word of its own: drainit -- COMMAND ARG"},
		"R/plain x":       {127, "there is no such file; it has a blank, and each argument is a word of its own: drainit -- COMMAND ARG"},
		" plain":          {127, "there is no such file; it has a blank, and each argument is a word of its own: drainit -- COMMAND ARG"},
		"R/foreign":       {126, "R/foreign is for another kind of machine: exec format error"},
		"foreign":         {126, "R/foreign is for another kind of machine: exec format error"},
		"R/plain":         {126, "R/plain: permission denied"},
		"R/folder":        {126, "R/folder: is a directory"},
		"no-such-command": {127, "not found in PATH"},
		"R/nothing":       {127, "there is no such file"},
		"R/plain/tool":    {127, "there is no such file"},
		"":                {127, "not found in PATH"},
		"--grace":         {127, "not found in PATH"},
	} {
		t.Run(command, func(t *testing.T) {
			command, says := strings.ReplaceAll(command, "R/", root+"/"), strings.ReplaceAll(tt.says, "R/", root+"/")
			want := harness.Ran{Status: tt.status, Err: "drainit: error: cannot run \"" + command + "\": " + says + "\n"}
			got := harness.RunToEnd(t, harness.Launch{NoPID1: true, Env: []string{"PATH=" + root}, Args: []string{"--log-format=text", "--", command, "secret"}})
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}

func TestDeletedWorkingDirectory(t *testing.T) {
	echo, err := exec.LookPath("echo")
	harness.Must(t, err)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		for command, want := range map[string]int{echo: 0, "echo": 0, "./echo": 127} {
			args := []string{"-c", `cd $(mktemp -d) && rmdir "$PWD" && exec "$@"`, "sh", harness.DrainitBin, "--", command, "here"}
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: args})
			if out := map[int]string{0: "here\n"}[want]; r.Status != want || r.Out != out {
				t.Errorf("%s: exit status %d, want %d; stdout %q, stderr %q", command, r.Status, want, r.Out, r.Err)
			}
			wantOneLineIf(t, want != 0, r.Err)
		}
	})
}

// Arguments go through as they are, however odd, empty and long; argv[0] is what was given, not
// what was found: busybox and the like go by it.
func TestArgumentsReachTheWorkerUnchanged(t *testing.T) {
	command := []string{"sh", "-c", `cat "/proc/$$/cmdline"; :`,
		"", " ", "a b", "a\nb", "--grace", "-v", "--", "$HOME", "*", "\xff\xfe", "ä", strings.Repeat("x", 100_000)}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
		r.WantQuietRun(t, strings.Join(command, "\x00")+"\x00")
	})
}
