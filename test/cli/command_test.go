package cli

import (
	"encoding/binary"
	"fmt"
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
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		dir := filepath.Dir(filepath.Join(root, p.name))
		if p.mode.IsDir() {
			dir = filepath.Join(root, p.name)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
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
	"in the second folder":              {[]place{{"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind a file without x":           {[]place{{"a/tool", withShebang, 0o644}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind a folder":                   {[]place{{"a/tool", "", os.ModeDir}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind a missing interpreter":      {[]place{{"a/tool", "#!/no/such\n", 0o755}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"behind what is no folder":          {[]place{{"a", "", 0o755}, {"b/tool", withShebang, 0o755}}, "R/a:R/b", "tool", 0, "R/b/tool|x|y z|"},
	"without #!":                        {[]place{{"a/tool", withoutShebang, 0o755}}, "R/a", "tool", 0, "R/a/tool|x|y z|"},
	"without #!, by its path":           {[]place{{"a/tool", withoutShebang, 0o755}}, "R/b", "a/tool", 0, "a/tool|x|y z|"},
	"an empty file":                     {[]place{{"a/tool", "", 0o755}}, "R/a", "tool", 0, ""},
	"a name with a blank and a newline": {[]place{{"a/my\n tool", withShebang, 0o755}}, "R/a", "my\n tool", 0, "R/a/my\n tool|x|y z|"},
	"empty element first":               {[]place{{"tool", withShebang, 0o755}, {"b/tool", withShebang, 0o755}}, ":R/b", "tool", 0, "tool|x|y z|"},
	"empty element last":                {[]place{{"tool", withShebang, 0o755}}, "R/b:", "tool", 0, "tool|x|y z|"},
	"empty element between":             {[]place{{"tool", withShebang, 0o755}}, "R/a::R/b", "tool", 0, "tool|x|y z|"},
	"empty PATH":                        {[]place{{"tool", withShebang, 0o755}}, "", "tool", 0, "tool|x|y z|"},
	"a relative element":                {[]place{{"bin/tool", withShebang, 0o755}}, "bin", "tool", 0, "bin/tool|x|y z|"},
	"the working directory is not PATH": {[]place{{"tool", withShebang, 0o755}}, "R/a", "tool", 127, ""},
	"no PATH":                           {nil, "-", "echo", 0, "x y z\n"},
	"no PATH and not there":             {[]place{{"tool", withShebang, 0o755}}, "-", "tool", 127, ""},
	"a path goes by PATH never":         {[]place{{"a/b/tool", withShebang, 0o755}}, "R/a", "b/tool", 127, ""},
	"not found":                         {nil, "R/a:R/b", "tool", 127, ""},
	"no such path":                      {nil, "R/a", "./tool", 127, ""},
	"the empty name":                    {[]place{{"a/tool", withShebang, 0o755}}, "R/a", "", 127, ""},
	"without x only":                    {[]place{{"a/tool", withShebang, 0o644}}, "R/a:R/b", "tool", 126, ""},
	"without x, by its path":            {[]place{{"tool", withShebang, 0o644}}, "R/a", "./tool", 126, ""},
	"a folder, by its path":             {[]place{{"tool", "", os.ModeDir}}, "R/a", "./tool", 126, ""},
	"a folder only":                     {[]place{{"a/tool", "", os.ModeDir}}, "R/a:R/b", "tool", 126, ""},
}

func TestCommandIsFoundAsByExecvp(t *testing.T) {
	harness.Need(t, "env")
	for name, tt := range lookups {
		t.Run(name, func(t *testing.T) {
			root := makePlaces(t, tt.places)
			l := harness.Launch{Bin: "/usr/bin/env", Dir: root, NoPID1: true, Args: []string{"-u", "PATH"}}
			if tt.path != "-" {
				l.Args = []string{"PATH=" + strings.ReplaceAll(tt.path, "R", root)}
			}
			command := []string{tt.command, "x", "y z"}
			bare, given := l, l.Args
			bare.Args = append(given[:len(given):len(given)], command...)
			l.Args = append(append(given[:len(given):len(given)], harness.DrainitBin, "--"), command...)
			want := harness.RunToEnd(t, bare)
			if want.Status != tt.status || want.Out != strings.ReplaceAll(tt.out, "R", root) {
				t.Fatalf("env itself: status %d, want %d, stdout %q, stderr %q", want.Status, tt.status, want.Out, want.Err)
			}
			got := harness.RunToEnd(t, l)
			if got.Status != want.Status || got.Out != want.Out {
				t.Errorf("status %d, stdout %q\nwant   %d, stdout %q\nstderr %q", got.Status, got.Out, want.Status, want.Out, got.Err)
			}
			wantOneLineIf(t, got.Status != 0, got.Err)
		})
	}
}

// wantOneLineIf checks for one line of drainit's, or for none.
func wantOneLineIf(t *testing.T, want bool, stderr string) {
	t.Helper()
	lines := strings.Count(stderr, "\n")
	if !want && stderr != "" || want && (lines != 1 || !strings.HasSuffix(stderr, "\n")) {
		t.Errorf("stderr has %d lines: %q", lines, stderr)
	}
}

// foreignBinary is the test's worker as if for a machine that does not exist.
func foreignBinary(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(harness.WorkerBin)
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // offset of e_machine, elf(5)
	binary.NativeEndian.PutUint16(b[machine:], 0x7ead)
	return string(b)
}

// What can't be run is distinguished, by the exit status for programs and by a
// line for people.
func TestCommandThatCannotRunIsExplained(t *testing.T) {
	harness.Usual(t)
	root := makePlaces(t, []place{
		{"interpreter", "#!/no/such/interpreter\n", 0o755},
		{"windows", "#!/bin/sh\r\necho\r\n", 0o755},
		{"foreign", foreignBinary(t), 0o755},
		{"plain", withShebang, 0o644},
		{"folder", "", os.ModeDir},
	})
	for name, tt := range map[string]struct {
		command string
		status  int
		says    []string
	}{
		"missing interpreter":        {root + "/interpreter", 126, []string{`cannot run "` + root + `/interpreter"`, "interpreter (#!)"}},
		"interpreter with a CR":      {root + "/windows", 126, []string{"interpreter (#!)"}},
		"another kind of machine":    {root + "/foreign", 126, []string{`/foreign"`, "another kind of machine"}},
		"in PATH, another machine":   {"foreign", 126, []string{`"foreign"`, root + "/foreign", "another kind of machine"}},
		"in PATH, interpreter":       {"interpreter", 126, []string{`"interpreter"`, root + "/interpreter", "interpreter (#!)"}},
		"not executable":             {root + "/plain", 126, []string{`/plain"`, "permission denied"}},
		"a folder":                   {root + "/folder", 126, []string{`/folder"`, "is a directory"}},
		"not found in PATH":          {"no-such-command", 127, []string{`"no-such-command"`, "not found in PATH"}},
		"no such path":               {root + "/nothing", 127, []string{`/nothing"`, "no such file"}},
		"a path through a file":      {root + "/plain/tool", 127, []string{`/plain/tool"`, "no such file"}},
		"the empty name":             {"", 127, []string{`cannot run ""`, "not found"}},
		"a flag behind the two dash": {"--grace", 127, []string{`"--grace"`, "not found in PATH"}},
	} {
		t.Run(name, func(t *testing.T) {
			harness.BothModes(t, func(t *testing.T, noPID1 bool) {
				r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Env: []string{"PATH=" + root},
					Args: []string{"--log-format=text", "--", tt.command, "secret argument"}})
				wantExplained(t, r, tt.status, tt.says)
			})
		})
	}
}

// wantExplained checks the status and the one line of a command that did not run.
func wantExplained(t *testing.T, r harness.Ran, status int, says []string) {
	t.Helper()
	if r.Status != status || r.Out != "" {
		t.Errorf("exit status %d, want %d; stdout %q", r.Status, status, r.Out)
	}
	wantOneLineIf(t, true, r.Err)
	for _, want := range append(says, "drainit: error: ") {
		if !strings.Contains(r.Err, want) {
			t.Errorf("no %q in %q", want, r.Err)
		}
	}
	if strings.Contains(r.Err, "secret") {
		t.Errorf("an argument of the command in %q", r.Err)
	}
}

// A program that is being written can't be run; a download that goes on, say.
func TestCommandThatIsOpenForWriting(t *testing.T) {
	path := harness.WriteProgram(t, t.TempDir(), "busy", 0o755, withShebang)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--", path}})
	if r.Status != 126 || !strings.Contains(r.Err, "text file busy") {
		t.Errorf("exit status %d, stderr %q", r.Status, r.Err)
	}
	wantOneLineIf(t, true, r.Err)
}

func TestDeletedWorkingDirectory(t *testing.T) {
	const script = `rmdir "$PWD" && exec "$@"`
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		for command, want := range map[string]int{echo: 0, "echo": 0, "./echo": 127} {
			dir := filepath.Join(t.TempDir(), "gone")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Dir: dir, Bin: "/bin/sh", Args: []string{"-c", script, "sh", harness.DrainitBin, "--", command, "here"}})
			if out := map[int]string{0: "here\n"}[want]; r.Status != want || r.Out != out {
				t.Errorf("%s: exit status %d, want %d; stdout %q, stderr %q", command, r.Status, want, r.Out, r.Err)
			}
			wantOneLineIf(t, want != 0, r.Err)
			if _, err := os.Stat(dir); err == nil {
				t.Error("the working directory still exists")
			}
		}
	})
}

// Arguments go through as they are, however odd, empty and long.
func TestArgumentsReachTheWorkerUnchanged(t *testing.T) {
	harness.Need(t, "perl")
	args := []string{"", " ", "a b", "a\nb", "--grace", "-v", "--", "$HOME", "*", "\xff\xfe", "ä", strings.Repeat("x", 100_000)}
	var want strings.Builder
	for _, a := range args {
		fmt.Fprintf(&want, "%d:%s\n", len(a), a)
	}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		show := []string{"--", "perl", "-e", `print length, ":$_\n" for @ARGV`, "--"}
		harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append(show, args...)}).WantQuietRun(t, want.String())
	})
}

// argv[0] is what was given, not what was found: busybox and the like go by it.
func TestWorkerSeesTheNameItWasGiven(t *testing.T) {
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: []string{"--", "cat", "/proc/self/cmdline"}})
		r.WantQuietRun(t, "cat\x00/proc/self/cmdline\x00")
	})
}
