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

// debArch is Debian's name of an architecture.
func debArch(arch string) string {
	if other := map[string]string{"arm": "armhf", "386": "i386", "ppc64le": "ppc64el"}[arch]; other != "" {
		return other
	}
	return arch
}

// debOf is the name of an architecture's Debian package.
func debOf(t *testing.T, arch string) string {
	t.Helper()
	debs, err := filepath.Glob(filepath.Join(release(t), "drainit_*_"+debArch(arch)+".deb"))
	if err != nil || len(debs) != 1 {
		t.Fatalf("%v, Debian packages of %s: %q", err, arch, debs)
	}
	return filepath.Base(debs[0])
}

// packaged are the files of the packages by their names, as this repository has them.
func packaged(t *testing.T, arch string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{
		"usr/bin/drainit":                 read(t, "drainit-linux-"+arch),
		"usr/share/doc/drainit/copyright": read(t, "drainit-licenses.txt"),
	}
	for name, source := range map[string]string{
		"usr/share/doc/drainit/changelog": "CHANGELOG.md", "usr/share/man/man1/drainit.1": "docs/drainit.1",
		"usr/share/doc/drainit/examples/Dockerfile.example": "Dockerfile.example",
	} {
		data, err := os.ReadFile(filepath.Join(released.clone, source))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	return files
}

func TestDebUnpacks(t *testing.T) {
	harness.Need(t, "dpkg-deb", "md5sum")
	for _, arch := range arches() {
		deb := filepath.Join(release(t), debOf(t, arch))
		root := t.TempDir()
		do(t, root, "dpkg-deb", "--raw-extract", deb, root)
		want := packaged(t, arch)
		for _, name := range []string{"usr/share/doc/drainit/changelog", "usr/share/man/man1/drainit.1"} {
			want[name+".gz"] = want[name]
			delete(want, name)
		}
		for name, data := range want {
			got, err := os.ReadFile(filepath.Join(root, name))
			if err == nil && strings.HasSuffix(name, ".gz") {
				got, err = gunzip(got)
			}
			if err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %s differs (%v)", arch, name, err)
			}
		}
		do(t, root, "md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums")
		if sums, _ := os.ReadFile(filepath.Join(root, "DEBIAN/md5sums")); bytes.Count(sums, []byte("\n")) != len(want) {
			t.Errorf("%s: md5sums has not %d lines:\n%s", arch, len(want), sums)
		}
	}
}

// dpkg --info prints what is wrong with the control file on standard error.
func TestDebIsWhatItSays(t *testing.T) {
	harness.Need(t, "dpkg-deb", "sh")
	for _, arch := range arches() {
		info := do(t, release(t), "sh", "-c", `exec dpkg-deb --info "$1" 2>&1`, "sh", debOf(t, arch))
		if strings.Contains(info, "warning") || strings.Contains(info, "error") {
			t.Errorf("%s: dpkg-deb --info says\n%s", arch, info)
		}
		for _, want := range []string{"Package: drainit\n", "Architecture: " + debArch(arch) + "\n", "Maintainer: drainit\n"} {
			if !strings.Contains(info, want) {
				t.Errorf("%s: no %q in\n%s", arch, want, info)
			}
		}
		contents := do(t, release(t), "dpkg-deb", "--contents", debOf(t, arch))
		for line := range strings.Lines(contents) {
			if !strings.Contains(line, " root/root ") {
				t.Errorf("%s: not root's: %s", arch, line)
			}
		}
		if !strings.Contains(contents, "-rwxr-xr-x root/root") || !strings.HasSuffix(strings.SplitN(contents, "\n", 2)[0], " ./") {
			t.Errorf("%s: no program, or not from the root:\n%s", arch, contents)
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
	for _, dir := range []string{"info", "updates", "parts"} {
		if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	do(t, release(t), "dpkg", "--root="+root, "--log=/dev/null", "--install", debOf(t, arches()[0]))
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
		data, err := gunzip(read(t, "drainit-"+version(t)+"-linux-"+arch+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		want := packaged(t, arch)
		delete(want, "usr/share/doc/drainit/changelog")
		got := untar(t, data)
		for name, data := range want {
			if f := got[name]; f == nil || !bytes.Equal(f.data, data) {
				t.Errorf("%s: %s is not there, or differs", arch, name)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d files, want %d", arch, len(got), len(want))
		}
		if got["usr/bin/drainit"].mode != 0o755 {
			t.Errorf("%s: the program has mode %o", arch, got["usr/bin/drainit"].mode)
		}
	}
}

// entry is a regular file in a tar.
type entry struct {
	mode int64
	data []byte
}

// untar is the files of a tar. All belong to root, are of the commit's time, and stand
// behind their folders, each once.
func untar(t *testing.T, data []byte) map[string]*entry {
	t.Helper()
	files := make(map[string]*entry)
	at := do(t, released.clone, "git", "log", "-1", "--format=%ct")
	var names []string
	for r := tar.NewReader(bytes.NewReader(data)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || fmt.Sprint(h.ModTime.Unix()) != at {
			t.Errorf("%s is %d:%d's, of %v", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		if dir := filepath.Dir(strings.TrimSuffix(h.Name, "/")); dir != "." && !slices.Contains(names, dir+"/") {
			t.Errorf("%s stands before its folder", h.Name)
		}
		if slices.Contains(names, h.Name) {
			t.Errorf("%s stands twice", h.Name)
		}
		names = append(names, h.Name)
		if h.Typeflag == tar.TypeReg {
			body, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			files[h.Name] = &entry{h.Mode, body}
		}
	}
	return files
}

func gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
