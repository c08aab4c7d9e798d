package delivery

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestReleaseHasTheFilesOfEachArchitecture(t *testing.T) {
	dir, v := release(t), version(t)
	want := []string{"SHA256SUMS", "drainit-licenses.txt", "drainit.spdx.json", "drainit-oci.tar"}
	for _, arch := range arches() {
		want = append(want, "drainit-linux-"+arch, "drainit-image-linux-"+arch+".tar",
			"drainit-"+v+"-linux-"+arch+".tar.gz", debOf(t, arch))
	}
	slices.Sort(want)
	if got := filesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the release has\n%q, want\n%q", got, want)
	}
}

func TestSumsListEachFile(t *testing.T) {
	dir := release(t)
	do(t, dir, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	want := slices.DeleteFunc(filesIn(t, dir), func(name string) bool { return name == "SHA256SUMS" })
	var got []string
	for line := range strings.Lines(string(read(t, "SHA256SUMS"))) {
		got = append(got, strings.Fields(line)[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("SHA256SUMS lists\n%q, want\n%q", got, want)
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
	if err := makeRelease(again, filepath.Join(again, "dist"), arches()...); err != nil {
		t.Fatal(err)
	}
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
	if err := makeRelease(released.clone, dir, arches()[0]); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a release into a full folder: %v", err)
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
