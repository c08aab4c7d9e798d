package inspect

import (
	"strings"
	"testing"

	"drainit/test/harness"
)

// Two drainits run in the surroundings of these tests, or none: who gets as far
// as to look for one fails otherwise.
func TestVerbsRefuseWhatTheyDoNotTake(t *testing.T) {
	for _, tt := range []struct{ args, names string }{
		{"status --bogus", "--bogus"},
		{"status -x", "x"},
		{"status --force", "--force"},
		{"status --sleep=5s", "--sleep"},
		{"status --grace=5s", "--grace"},
		{"status --ready=perhaps", "perhaps"},
		{"status now", `"now"`},
		{"status -- now", `"now"`},
		{"status quiet", `"quiet"`},
		{"status -v", "v"},
		{"quiet 5", `"5"`},
		{"quiet --sleep", "--sleep"},
		{"quiet --sleep=", `""`},
		{"quiet --sleep=soon", `"soon"`},
		{"quiet --sleep=-1s", `"-1s"`},
		{"quiet --sleep=1000000", `"1000000"`},
		{"quiet --ready", "--ready"},
		{"quiet --sleep 5s now", `"now"`},
		{"resume --sleep=5s", "--sleep"},
		{"resume now", `"now"`},
		{"stop --grace=0", "--grace"},
		{"stop --force=perhaps", "perhaps"},
		{"stop --json", "--json"},
		{"stop 7", `"7"`},
		{"stop -9", "9"},
		{"stop --force 7", `"7"`},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: strings.Fields(tt.args)})
			if r.Status != 125 || r.Out != "" || len(harness.LinesOf(r.Err)) != 1 || !strings.Contains(r.Err, tt.names) {
				t.Errorf("exit status %d, stdout %q; want one line that names %s:\n%s", r.Status, r.Out, tt.names, r.Err)
			}
			harness.WantPrintable(t, strings.TrimSuffix(r.Err, "\n"))
		})
	}
}

// Help needs no drainit to ask.
func TestVerbsHaveHelp(t *testing.T) {
	for verb, flags := range map[string][]string{"status": {"--ready", "--json"}, "quiet": {"--sleep"}, "resume": nil, "stop": {"--force"}} {
		for _, args := range [][]string{{"--help"}, {"-h"}} {
			t.Run(verb+" "+args[0], func(t *testing.T) {
				t.Parallel()
				r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: append([]string{verb}, args...)})
				if r.Status != 0 || r.Err != "" {
					t.Errorf("exit status %d, stderr %q", r.Status, r.Err)
				}
				for _, want := range append(flags, verb) {
					if !strings.Contains(r.Out, want) {
						t.Errorf("no %q in:\n%s", want, r.Out)
					}
				}
			})
		}
	}
}

// Only as the first argument is a verb a verb.
func TestCommandThatBearsAVerbsNameRuns(t *testing.T) {
	harness.Usual(t)
	for _, verb := range []string{"status", "quiet", "resume", "stop"} {
		dir := t.TempDir()
		harness.WriteProgram(t, dir, verb, 0o755, "#!/bin/sh\necho \"command $*\"; exit 4\n")
		for name, args := range map[string][]string{
			"behind --":            {"--", verb, "--json"},
			"behind a flag":        {"--log-format=text", verb, "--json"},
			"behind a short flag":  {"-v", verb, "--json"},
			"behind a flag and --": {"-v", "--", verb, "--json"},
			"by its path":          {dir + "/" + verb, "--json"},
			"in its folder":        {"./" + verb, "--json"},
		} {
			t.Run(verb+" "+name, func(t *testing.T) {
				harness.BothModes(t, func(t *testing.T, noPID1 bool) {
					r := harness.RunToEnd(t, harness.Launch{NoPID1: noPID1, Dir: dir, Env: []string{"PATH=" + dir + ":/bin"}, Args: args})
					if r.Status != 4 || r.Out != "command --json\n" {
						t.Errorf("exit status %d, stdout %q\n%s", r.Status, r.Out, r.Err)
					}
				})
			})
		}
	}
}

func TestUsageNamesTheVerbs(t *testing.T) {
	for _, args := range [][]string{nil, {"--help"}} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: args})
		for _, verb := range []string{"status", "quiet", "resume", "stop"} {
			if !strings.Contains(r.Out+r.Err, verb) {
				t.Errorf("%q: no %s in:\n%s", args, verb, r.Out+r.Err)
			}
		}
	}
}
