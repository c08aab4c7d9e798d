package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestHelpNamesEveryFlagAndFits(t *testing.T) {
	for _, s := range settings {
		if !regexp.MustCompile(`(?m)^ +` + spelled(s) + `[ \n]`).MatchString(help) {
			t.Errorf("%s does not begin a line of the help", spelled(s))
		}
	}
	for _, short := range "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" {
		flag := "-" + string(short)
		_, err := parse([]string{flag, "x"}, nil)
		taken := err == nil || !strings.Contains(err.Error(), "unknown shorthand")
		if named := regexp.MustCompile(`(?m)^ +` + flag + `\b`).MatchString(help); named != taken {
			t.Errorf("%s is taken: %v, in the help: %v", flag, taken, named)
		}
	}
	for _, word := range []string{"-h, --help", "-V, --version", "DRAINIT_GRACE", "OJS_SHUTDOWN_GRACE_PERIOD", "OJS_GRACE_PERIOD", "OJS_SHUTDOWN_TIMEOUT"} {
		if !strings.Contains(help, word) {
			t.Errorf("%s is not in the help", word)
		}
	}
	for line := range strings.Lines(help) {
		if len(line) > 92 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// spelled is a flag as the help and the README have it.
func spelled(s setting) string {
	if s.short == "" {
		return "--" + s.name
	}
	return "-" + s.short + ", --" + s.name
}

// The table has the flag, and the paragraph below it the variable.
func TestREADMENamesEveryFlagAndVariable(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, variables, _ := strings.Cut(string(readme), "\nEach flag with a value has an environment variable")
	variables, _, _ = strings.Cut(variables, "\n\n")
	for _, s := range settings {
		if !regexp.MustCompile("(?m)^\\| `" + spelled(s) + "[ `]").Match(readme) {
			t.Errorf("%s is not in the README's table", spelled(s))
		}
		if !strings.Contains(variables, "`"+s.variable()+"`") {
			t.Errorf("%s is not in the README's list", s.variable())
		}
	}
}

func TestHelpHasTheUsage(t *testing.T) {
	if strings.Count(help, usage) != 1 {
		t.Errorf("the help has the usage %d times", strings.Count(help, usage))
	}
}
