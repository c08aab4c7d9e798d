package cli

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"drainit/internal/inspect"
	"drainit/internal/logx"
)

// These tests ask parseVerb, and Run of status alone: a fault in what they test must not
// signal a drainit that runs beside them.

func TestVerbs(t *testing.T) {
	tests := map[string]inspect.Request{
		"status":                        {Verb: "status"},
		"status --ready":                {Verb: "status", Ready: true},
		"status --json":                 {Verb: "status", JSON: true},
		"status --json --ready":         {Verb: "status", Ready: true, JSON: true},
		"status --ready --ready=false":  {Verb: "status"},
		"quiet":                         {Verb: "quiet"},
		"quiet --sleep 5s":              {Verb: "quiet", Sleep: 5 * time.Second},
		"quiet --sleep=25":              {Verb: "quiet", Sleep: 25 * time.Second},
		"quiet --sleep 5s --sleep 1m0s": {Verb: "quiet", Sleep: time.Minute},
		"resume":                        {Verb: "resume"},
		"resume --":                     {Verb: "resume"},
		"stop":                          {Verb: "stop"},
		"stop --force":                  {Verb: "stop", Force: true},
		"stop --force=0":                {Verb: "stop"},
		"stop --wait --force":           {Verb: "stop", Wait: true, Force: true},
		"status --pid 7":                {Verb: "status", PID: 7},
		"quiet --pid=12 --sleep 5":      {Verb: "quiet", PID: 12, Sleep: 5 * time.Second},
		"resume --pid 2147483647":       {Verb: "resume", PID: 1<<31 - 1},
		"stop --pid 7 --pid 8":          {Verb: "stop", PID: 8},
	}
	for args, want := range tests {
		if got, err := parseVerb(strings.Fields(args), 7); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", args, got, err, want)
		}
	}
}

func TestVerbsMistakes(t *testing.T) {
	tests := map[string]string{ // the error between the verb and the hint
		"status now":                 `unexpected "now"`,
		"status --ready no":          `unexpected "no"`,
		"resume -- x y":              `unexpected "x"`,
		"quiet 5":                    `unexpected "5"`,
		"stop -f":                    `unknown shorthand flag: 'f' in -f`,
		"stop --ready":               `unknown flag: --ready`,
		"stop --json":                `unknown flag: --json`,
		"stop --sleep 5":             `unknown flag: --sleep`,
		"status --force":             `unknown flag: --force`,
		"status --sleep 5":           `unknown flag: --sleep`,
		"quiet --force":              `unknown flag: --force`,
		"resume --sleep 5":           `unknown flag: --sleep`,
		"resume --grace 5":           `unknown flag: --grace`,
		"quiet --sleep":              `flag needs an argument: --sleep`,
		"quiet --sleep soon":         `invalid argument "soon" for "--sleep" flag: invalid duration "soon": want 5s or 5 (seconds)`,
		"quiet --sleep infinity":     `invalid argument "infinity" for "--sleep" flag: invalid duration "infinity": want 5s or 5 (seconds)`,
		"quiet --sleep 604801":       `invalid argument "604801" for "--sleep" flag: "604801" is more than a week (milliseconds meant?): want 5s or 5 (seconds)`,
		"status --ready=maybe":       `invalid argument "maybe" for "--ready" flag: invalid value "maybe": want 1, 0, true or false`,
		"stop --force=":              `invalid argument "" for "--force" flag: invalid value "": want 1, 0, true or false`,
		"status --pid":               `flag needs an argument: --pid`,
		"stop --pid 0":               `invalid argument "0" for "--pid" flag: want a pid`,
		"stop --pid -1":              `invalid argument "-1" for "--pid" flag: want a pid`,
		"quiet --pid 2147483648":     `invalid argument "2147483648" for "--pid" flag: want a pid`,
		"resume --pid one":           `invalid argument "one" for "--pid" flag: want a pid`,
		"status --wait":              `unknown flag: --wait`,
		"status --json --bad --help": `unknown flag: --bad`,
	}
	for args, problem := range tests {
		verb := strings.Fields(args)[0]
		want := verb + ": " + problem + "; a command of that name is run by: drainit -- " + verb
		for _, pid := range []int{7, 1} {
			if _, err := parseVerb(strings.Fields(args), pid); err == nil || err.Error() != want {
				t.Errorf("%s as %d:\ngot  %v\nwant %s", args, pid, err, want)
			}
		}
	}
}

func TestVerbsHelp(t *testing.T) {
	for _, args := range []string{"status --help", "quiet -h", "resume --help", "stop --force --help", "stop --help x"} {
		for _, pid := range []int{7, 1} {
			if _, err := parseVerb(strings.Fields(args), pid); err != pflag.ErrHelp {
				t.Errorf("%s as %d: %v", args, pid, err)
			}
		}
	}
}

// An image may have a COMMAND that is named as a verb is.
func TestVerbAsPID1(t *testing.T) {
	for _, verb := range []string{"status", "quiet", "resume", "stop"} {
		want := verb + ": this drainit is PID 1, and a verb asks one that runs already; a command of that name is run by: drainit -- " + verb
		if _, err := parseVerb([]string{verb}, 1); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestVerbsMistakeIsOneLine(t *testing.T) {
	want := said{125, "", `drainit: status: unexpected "a\nb"; a command of that name is run by: drainit -- status` + "\n"}
	if got := run(t, []string{"status", "a\nb"}, nil); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestVerbIsACOMMANDBehindDashes(t *testing.T) {
	for _, args := range [][]string{{"--", "status"}, {"-t", "5", "status"}, {"--", "stop", "--force"}} {
		o, err := parse(args, nil)
		if err != nil || !slices.Contains(inspect.Verbs, o.config.Command[0]) {
			t.Errorf("%q: %q, %v", args, o.config.Command, err)
		}
	}
}

// A drainit may start or end beside the test: then it asks again.
func TestVerbsAnswerIsInspects(t *testing.T) {
	ask := func() (got said) {
		got.status = inspect.Run(inspect.Request{Verb: inspect.VerbStatus}, io.Discard, func(line error) {
			got.stderr += "drainit: " + logx.Printable(line.Error()) + "\n"
		})
		return got
	}
	for range 100 {
		before, got, after := ask(), run(t, []string{"status"}, nil), ask()
		if before != after {
			continue
		}
		if got.status != after.status || got.stderr != after.stderr || (got.stdout == "") != (after.stderr != "") {
			t.Errorf("got %+v, want %+v", got, after)
		}
		return
	}
	t.Error("the answer changed each time")
}
