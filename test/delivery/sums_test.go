package delivery

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
