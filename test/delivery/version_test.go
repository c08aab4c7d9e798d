package delivery

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"drainit/test/harness"
)

// The line names the tag, and ends as dockerd reads it. Debian's version sorts as the
// releases follow each other.
func TestVersionNamesTheTag(t *testing.T) {
	needClone(t)
	harness.Need(t, "dpkg", "dpkg-deb")
	clone := filepath.Join(t.TempDir(), "clone")
	if err := cloneTo(clone); err != nil {
		t.Fatal(err)
	}
	const commit = `\d{14}-[0-9a-f]{12}`
	before := ""
	for _, s := range []struct {
		name, change string
		line, deb    string
	}{
		{"no tag", "true", `v0\.0\.0-` + commit, `0\.0\.0~\d{14}\.[0-9a-f]{7}`},
		{"a candidate", "git tag v1.2.3-rc.1", `v1\.2\.3-rc\.1`, `1\.2\.3~rc\.1`},
		{"after it", "git commit -q --allow-empty -m next", `v1\.2\.3-rc\.1\.0\.` + commit, `1\.2\.3~rc\.1\.0\.\d{14}\.[0-9a-f]{7}`},
		{"a tag", "git tag -a -m release v1.2.3", `v1\.2\.3`, `1\.2\.3`},
		{"a change that is not committed", "echo >>README.md", `v1\.2\.3\+dirty`, `1\.2\.3\+dirty`},
		{"after the tag", "git commit -qam next", `v1\.2\.4-0\.` + commit, `1\.2\.4~0\.\d{14}\.[0-9a-f]{7}`},
	} {
		do(t, clone, "sh", "-c", s.change)
		line, deb := versionsOf(t, clone)
		head := do(t, clone, "git", "rev-parse", "HEAD")
		if !regexp.MustCompile(`^drainit ` + s.line + ` go1\S* - git\.` + head[:7] + `$`).MatchString(line) {
			t.Errorf("%s: %q", s.name, line)
		}
		if !regexp.MustCompile(`^` + s.deb + `$`).MatchString(deb) {
			t.Errorf("%s: Debian's version is %q", s.name, deb)
		}
		if before != "" && exec.Command("dpkg", "--compare-versions", before, "lt", deb).Run() != nil {
			t.Errorf("%s: Debian's version %s is not after %s", s.name, deb, before)
		}
		before = deb
	}
}

// versionsOf makes a release, and returns the binary's version line and the Debian
// package's version.
func versionsOf(t *testing.T, clone string) (line, deb string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "version-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	arch := arches()[0]
	if err := makeRelease(clone, dir, arch); err != nil {
		t.Fatal(err)
	}
	name := debOf(t, dir, arch)
	deb = do(t, dir, "dpkg-deb", "--field", name, "Version")
	if want := "drainit_" + deb + "_" + arch + ".deb"; name != want {
		t.Errorf("%s is named %s", want, name)
	}
	return do(t, dir, "./drainit-linux-"+arch, "--version"), deb
}
