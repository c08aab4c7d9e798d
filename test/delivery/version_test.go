package delivery

import (
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
	dir := filepath.Join(t.TempDir(), "clone")
	clone(t, dir)
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
		do(t, dir, "sh", "-c", s.change)
		out, arch := t.TempDir(), arches()[0]
		makeRelease(t, dir, out, arch)
		line := do(t, out, "./drainit-linux-"+arch, "--version")
		deb := do(t, out, "dpkg-deb", "--field", debOf(t, out, arch), "Version")
		if want := "drainit_" + deb + "_" + arch + ".deb"; debOf(t, out, arch) != want {
			t.Errorf("%s is named %s", want, debOf(t, out, arch))
		}
		head := do(t, dir, "git", "rev-parse", "HEAD")
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
