package delivery

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// debOf is the name of an architecture's Debian package. Of those in the tests Debian has the same names.
func debOf(t *testing.T, dir, arch string) string {
	t.Helper()
	debs, err := filepath.Glob(filepath.Join(dir, "drainit_*_"+arch+".deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("%v, Debian packages of %s: %q", err, arch, debs)
	}
	return filepath.Base(debs[0])
}

// packaged are the files of a package by their names, as this repository has them.
func packaged(t *testing.T, arch string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for name, source := range map[string]string{
		"usr/bin/drainit":                                   filepath.Join(release(t), "drainit-linux-"+arch),
		"usr/share/doc/drainit/copyright":                   filepath.Join(release(t), "drainit-licenses.txt"),
		"usr/share/doc/drainit/changelog":                   filepath.Join(released.clone, "CHANGELOG.md"),
		"usr/share/man/man1/drainit.1":                      filepath.Join(released.clone, "docs/drainit.1"),
		"usr/share/doc/drainit/examples/Dockerfile.example": filepath.Join(released.clone, "Dockerfile.example"),
		"usr/share/bash-completion/completions/drainit":     filepath.Join(released.clone, "docs/completion/drainit.bash"),
		"usr/share/zsh/vendor-completions/_drainit":         filepath.Join(released.clone, "docs/completion/_drainit"),
		"usr/share/fish/vendor_completions.d/drainit.fish":  filepath.Join(released.clone, "docs/completion/drainit.fish"),
	} {
		files[name] = []byte(harness.TextOf(t, source))
	}
	return files
}

// wantFiles compares the files in an archive, of which the program can be run.
func wantFiles(t *testing.T, name string, got map[string]entry, want map[string][]byte) {
	t.Helper()
	for file, data := range want {
		if !bytes.Equal(got[file].data, data) {
			t.Errorf("%s: %s is not there, or differs", name, file)
		}
	}
	if len(got) != len(want) || got["usr/bin/drainit"].mode != 0o755 {
		t.Errorf("%s: %d files, want %d; the program has mode %o", name, len(got), len(want), got["usr/bin/drainit"].mode)
	}
}

// dpkg-deb --info prints what is wrong with the control file on standard error.
func TestDebIsWhatItSays(t *testing.T) {
	harness.Need(t, "dpkg-deb", "sh", "md5sum")
	for _, arch := range arches() {
		deb, root := filepath.Join(release(t), debOf(t, release(t), arch)), t.TempDir()
		info := do(t, root, "sh", "-c", `exec dpkg-deb --info "$1" 2>&1`, "sh", deb)
		if strings.Contains(info, "warning") || strings.Contains(info, "error") {
			t.Errorf("%s: dpkg-deb --info says\n%s", arch, info)
		}
		for _, want := range []string{"Package: drainit\n", "Architecture: " + arch + "\n", "Maintainer: drainit\n"} {
			if !strings.Contains(info, want) {
				t.Errorf("%s: no %q in\n%s", arch, want, info)
			}
		}
		do(t, root, "sh", "-c", `dpkg-deb --fsys-tarfile "$1" >files.tar && dpkg-deb --control "$1" DEBIAN`, "sh", deb)
		data := []byte(harness.TextOf(t, filepath.Join(root, "files.tar")))
		if !bytes.HasPrefix(data, []byte("./\x00")) {
			t.Errorf("%s: the package does not begin at the root", arch)
		}
		got, want := untar(t, data), packaged(t, arch)
		for _, name := range []string{"usr/share/doc/drainit/changelog", "usr/share/man/man1/drainit.1"} {
			got[name] = entry{got[name+".gz"].mode, gunzip(t, got[name+".gz"].data)}
			delete(got, name+".gz")
		}
		wantFiles(t, arch+".deb", got, want)
		do(t, root, "tar", "-xf", "files.tar")
		do(t, root, "md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums")
		if sums := harness.TextOf(t, filepath.Join(root, "DEBIAN/md5sums")); strings.Count(sums, "\n") != len(want) {
			t.Errorf("%s: md5sums has not %d lines:\n%s", arch, len(want), sums)
		}
	}
}

// dpkg installs it into a root of its own, and removes it again.
func TestDebInstalls(t *testing.T) {
	harness.Need(t, "dpkg")
	if os.Getuid() != 0 {
		harness.Skip(t, "needs root, for dpkg")
	}
	root := t.TempDir()
	do(t, root, "sh", "-c", "mkdir -p var/lib/dpkg/info var/lib/dpkg/updates var/lib/dpkg/parts && : >var/lib/dpkg/status")
	do(t, release(t), "dpkg", "--root="+root, "--log=/dev/null", "--install", debOf(t, release(t), arches()[0]))
	if line := do(t, root, "usr/bin/drainit", "--version"); !strings.HasPrefix(line, "drainit v"+version(t)) {
		t.Errorf("the installed one says %q", line)
	}
	do(t, root, "dpkg", "--root="+root, "--log=/dev/null", "--remove", "drainit")
	if left, _ := filepath.Glob(filepath.Join(root, "usr/*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTreeIsForAnotherPackager(t *testing.T) {
	for _, arch := range arches() {
		want := packaged(t, arch)
		delete(want, "usr/share/doc/drainit/changelog")
		const debian = "usr/share/zsh/vendor-completions/_drainit"
		want["usr/share/zsh/site-functions/_drainit"] = want[debian] // as other systems have it
		delete(want, debian)
		name := "drainit-" + version(t) + "-linux-" + arch + ".tar.gz"
		wantFiles(t, name, untar(t, gunzip(t, read(t, name))), want)
	}
}

// entry is a regular file in a tar.
type entry struct {
	mode int64
	data []byte
}

// untar is the files of a tar. All belong to root, are of the commit's time, and stand after their
// folders, each once.
func untar(t *testing.T, data []byte) map[string]entry {
	t.Helper()
	files := make(map[string]entry)
	at := do(t, released.clone, "git", "log", "-1", "--format=%ct")
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		harness.Must(t, err)
		name := strings.TrimPrefix(h.Name, "./")
		dir := filepath.Dir(strings.TrimSuffix(name, "/"))
		if slices.Contains(names, name) || dir != "." && !slices.Contains(names, dir+"/") {
			t.Errorf("%s stands twice, or before its folder", h.Name)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" || fmt.Sprint(h.ModTime.Unix()) != at {
			t.Errorf("%s is %d:%d's, of %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		names = append(names, name)
		if h.Typeflag == tar.TypeReg {
			body, err := io.ReadAll(r)
			harness.Must(t, err)
			files[name] = entry{h.Mode, body}
		}
	}
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		data, err = io.ReadAll(r)
	}
	harness.Must(t, err)
	return data
}
