package delivery

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

func TestSumsListTheFilesOfEachArchitecture(t *testing.T) {
	dir, v := release(t), version(t)
	do(t, dir, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	want := []string{"drainit-licenses.txt", "drainit.spdx.json", "drainit-oci.tar"}
	for _, arch := range arches() {
		want = append(want, "drainit-linux-"+arch, "drainit-image-linux-"+arch+".tar", "drainit-"+v+"-linux-"+arch+".tar.gz", debOf(t, dir, arch))
	}
	slices.Sort(want)
	var listed []string
	for line := range strings.Lines(string(read(t, "SHA256SUMS"))) {
		listed = append(listed, strings.Fields(line)[1])
	}
	if got := filesIn(t, dir); !slices.Equal(listed, want) || !slices.Equal(got, append([]string{"SHA256SUMS"}, want...)) {
		t.Errorf("the release has\n%q, lists\n%q, want\n%q", got, listed, want)
	}
}

// Another clone in another folder, and under settings that are the builder's own.
func TestReleaseHasTheSameBytesAgain(t *testing.T) {
	dir := release(t)
	again := filepath.Join(t.TempDir(), "again")
	do(t, "", "git", "clone", "-q", released.clone, again)
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "C.UTF-8")
	t.Setenv("GOARCH", "riscv64")
	t.Setenv("GOFLAGS", "-tags=other")
	makeRelease(t, again, filepath.Join(again, "dist"), arches()...)
	for _, name := range filesIn(t, dir) {
		data, err := os.ReadFile(filepath.Join(again, "dist", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(data, read(t, name)) {
			t.Errorf("%s differs", name)
		}
	}
}

func TestReleaseDoesNotMixWithAnother(t *testing.T) {
	dir := release(t)
	before := filesIn(t, dir)
	out, err := exec.Command(filepath.Join(released.clone, ".ci/release"), dir, arches()[0]).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "is not empty") {
		t.Errorf("a release into a full folder: %v\n%s", err, out)
	}
	if after := filesIn(t, dir); !slices.Equal(before, after) {
		t.Errorf("%q has become %q", before, after)
	}
}

// filesIn are the names in a folder, sorted.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

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
