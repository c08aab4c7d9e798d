package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
)

// These tests ask parseVerb, and Run of status alone: a fault in what they test must not
// signal a drainit that runs beside them.

func TestVerbs(t *testing.T) {
	for args, want := range map[string]inspect.Request{
		"status --json --ready":                {Verb: "status", Ready: true, JSON: true},
		"status --plan":                        {Verb: "status", Plan: true},
		"status --ready --ready=false --pid 7": {Verb: "status", PID: 7},
		"quiet --sleep 5s --pid=8 --pid 9":     {Verb: "quiet", Sleep: 5 * time.Second, PID: 9},
		"quiet --sleep=25 --sleep 1m0s":        {Verb: "quiet", Sleep: time.Minute},
		"resume --pid 2147483647 --":           {Verb: "resume", PID: 1<<31 - 1},
		"stop --wait --force --pid 8":          {Verb: "stop", Wait: true, Force: true, PID: 8},
		"stop --force=0":                       {Verb: "stop"},
	} {
		if got, err := parseVerb(strings.Fields(args), 7); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

// A mistake is named before anything else, for an image may have a COMMAND of a verb's name.
func TestVerbsMistakes(t *testing.T) {
	const asPID1 = "this drainit has just started as PID 1, and a subcommand asks one that runs already"
	for args, problem := range map[string]string{ // the error between the verb and the hint
		"status now":                 `unexpected "now"`,
		"resume -- x y":              `unexpected "x"`,
		"stop -f":                    `unknown shorthand flag: 'f' in -f`,
		"status --json --bad --help": `unknown flag: --bad`,
		"quiet --sleep":              `flag needs an argument: --sleep`,
		"quiet --sleep infinity":     `invalid argument "infinity" for "--sleep" flag: invalid duration "infinity": want 5s or 5 (seconds)`,
		"status --ready=maybe":       `invalid argument "maybe" for "--ready" flag: invalid value "maybe": want 1, 0, true or false`,
		"stop --force=":              `invalid argument "" for "--force" flag: invalid value "": want 1, 0, true or false`,
		"stop --pid 0":               `invalid argument "0" for "--pid" flag: want a pid`,
		"stop --pid -1":              `invalid argument "-1" for "--pid" flag: want a pid`,
		"quiet --pid 2147483648":     `invalid argument "2147483648" for "--pid" flag: want a pid`,
		"status":                     asPID1,
		"stop --force":               asPID1,
		"quiet --help":               "",
		"stop --force -h x":          "",
	} {
		verb, _, _ := strings.Cut(args, " ")
		want := verb + ": " + problem + "; a command of that name is run by: drainit -- " + verb
		if problem == "" {
			want = pflag.ErrHelp.Error()
		}
		for _, pid := range []int{7, 1} {
			_, err := parseVerb(strings.Fields(args), pid)
			if ok := problem == asPID1 && pid != 1; ok != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("%s as %d:\ngot  %v\nwant %s", args, pid, err, want)
			}
		}
	}
	want := said{125, "", `drainit: status: unexpected "a\nb"; a command of that name is run by: drainit -- status` + "\n"}
	if got := run(t, []string{"status", "a\nb"}, nil); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// There may be a drainit beside the test, or several, or none.
func TestVerbAnswers(t *testing.T) {
	got := run(t, []string{"status"}, nil)
	if refused := strings.HasPrefix(got.stderr, "drainit: "); refused == (got.stdout != "") || !refused && got.status == 125 {
		t.Errorf("%+v", got)
	}
}
