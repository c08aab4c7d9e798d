package cli

import (
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

// dockerd splits the line at " - " and expects git.COMMIT after it.
func TestVersionIsOneLineAsDockerdReadsIt(t *testing.T) {
	if line := version(debug.ReadBuildInfo()); !regexp.MustCompile(`^drainit \S+ go1\.[^ ]+ - git\.[a-z0-9]+\n$`).MatchString(line) {
		t.Errorf("%q", line)
	}
}

func TestVersionLine(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	tests := []struct {
		name string
		info *debug.BuildInfo
		want string // without the Go version
	}{
		{"no build info", nil, "drainit (unknown) GO - git.unknown\n"},
		{"no git", built("(devel)"), "drainit (devel) GO - git.unknown\n"},
		{"git", built("v1.2.3", debug.BuildSetting{Key: "vcs", Value: "git"}, debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}), "drainit v1.2.3 GO - git.0123456\n"},
		{"eight digits", built("v1", debug.BuildSetting{Key: "vcs.revision", Value: "01234567"}), "drainit v1 GO - git.0123456\n"},
		{"too short for a revision", built("v1", debug.BuildSetting{Key: "vcs.revision", Value: "0123456"}), "drainit v1 GO - git.unknown\n"},
		{"a long value of another key", built("v1", debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T08:19:29Z"}), "drainit v1 GO - git.unknown\n"},
	}
	for _, tt := range tests {
		got := version(tt.info, tt.info != nil)
		if got = regexp.MustCompile(` go1\S* `).ReplaceAllString(got, " GO "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if strings.Count(got, "\n") != 1 {
			t.Errorf("%s: not one line: %q", tt.name, got)
		}
	}
}
