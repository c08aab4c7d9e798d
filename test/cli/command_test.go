package cli

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/rows"
)

// Programs that say who they are and what they were given. Where execvp(3) runs
// "tool" for an empty element of PATH, drainit may as well run "./tool".
const (
	withShebang    = "#!/bin/sh\n" + withoutShebang
	withoutShebang = `printf '%s|' "${0#./}" "$@"` + "\n"
)

// makeFiles makes a folder with these files, and returns its path: a name with a slash at its end is a
// folder's, and behind an equals sign is what is odd about a program.
func makeFiles(t *testing.T, files string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	harness.Must(t, err)
	for file := range strings.FieldsSeq(files) {
		name, odd, _ := strings.Cut(file, "=")
		harness.Must(t, os.MkdirAll(filepath.Join(root, name[:strings.LastIndex(name, "/")+1]), 0o755))
		text, mode := withShebang, os.FileMode(0o755)
		switch odd {
		case "not_executable":
			mode = 0o644
		case "no_shebang":
			text = withoutShebang
		case "empty":
			text = ""
		case "no_interpreter":
			text = "#!/no/such/interpreter\n"
		case "crlf":
			text = "#!/bin/sh\r\n:\r\n"
		case "crlf_env":
			text = "#!/usr/bin/env\r\n"
		case "cut":
			text = "#!/bin/sh\r"
		case "foreign":
			text = foreignBinary(t)
		}
		if !strings.HasSuffix(name, "/") {
			harness.WriteProgram(t, root, name, mode, text)
		}
	}
	return root
}

func TestCommandIsFoundAsByExecvp(t *testing.T) {
	harness.Need(t, "env")
	for _, row := range rows.Read(t, "testdata/lookups.tsv", 6) {
		t.Run(row[0], func(t *testing.T) {
			root := makeFiles(t, row[1])
			given := []string{"PATH=" + strings.ReplaceAll(row[2], "R", root)}
			if row[2] == "unset" {
				given = []string{"-u", "PATH"}
			}
			run := func(command ...string) harness.Ran {
				args := slices.Concat(given, command, []string{row[3], "x", "y z"})
				return harness.RunToEnd(t, harness.Launch{Bin: "/usr/bin/env", Dir: root, NoPID1: true,
					Args: args})
			}
			want, got := run(), run(harness.DrainitBin, "--")
			if fmt.Sprint(want.Status) != row[4] || want.Out != strings.ReplaceAll(row[5], "R", root) {
				t.Fatalf("env itself: status %d, want %s, stdout %q, stderr %q", want.Status, row[4],
					want.Out, want.Err)
			}
			if got.Status != want.Status || got.Out != want.Out {
				t.Errorf("status %d, stdout %q\nwant   %d, stdout %q\nstderr %q",
					got.Status, got.Out, want.Status, want.Out, got.Err)
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
	root := makeFiles(t,
		"interpreter=no_interpreter crlf=crlf env=crlf_env short=cut foreign=foreign plain=not_executable "+
			"folder/")
	inRoot := strings.NewReplacer("R/", root+"/")
	for _, row := range rows.Read(t, "testdata/unrunnable.tsv", 3) {
		t.Run(row[0], func(t *testing.T) {
			command := inRoot.Replace(row[0])
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Env: []string{"PATH=" + root},
				Args: []string{"--log-format=text", "--", command, "secret"}})
			want := "drainit: error: cannot run \"" + command + "\": " + inRoot.Replace(row[2]) + "\n"
			if fmt.Sprint(r.Status) != row[1] || r.Out != "" || r.Err != want {
				t.Errorf("%+v, want %s and %s", r, row[1], want)
			}
		})
	}
}

func TestDeletedWorkingDirectory(t *testing.T) {
	echo, err := exec.LookPath("echo")
	harness.Must(t, err)
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		for command, want := range map[string]int{echo: 0, "echo": 0, "./echo": 127} {
			args := []string{"-c", `cd $(mktemp -d) && rmdir "$PWD" && exec "$@"`, "sh", harness.DrainitBin,
				"--", command, "here"}
			r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Bin: "/bin/sh", Args: args})
			if out := map[int]string{0: "here\n"}[want]; r.Status != want || r.Out != out {
				t.Errorf("%s: exit status %d, want %d; stdout %q, stderr %q", command, r.Status, want,
					r.Out, r.Err)
			}
			wantOneLineIf(t, want != 0, r.Err)
		}
	})
}

// Arguments go through as they are, however odd, empty and long; argv[0] is what was given, not
// what was found: busybox and the like go by it.
func TestArgumentsReachTheWorkerUnchanged(t *testing.T) {
	command := []string{"sh", "-c", `cat "/proc/$$/cmdline"; :`,
		"", " ", "a b", "a\nb", "--grace", "-v", "--", "$HOME", "*", "\xff\xfe", "ä",
		strings.Repeat("x", 100_000)}
	harness.BothModes(t, func(t *testing.T, noPID1 bool) {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Args: append([]string{"--"}, command...)})
		r.WantQuietRun(t, strings.Join(command, "\x00")+"\x00")
	})
}
