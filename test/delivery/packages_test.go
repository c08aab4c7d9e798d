package delivery

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
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

// kinds are the kinds of packages that distributions install, as the names of their files end.
var kinds = []string{"deb", "rpm", "apk"}

// packageOf is the name of the package of an architecture.
func packageOf(t *testing.T, dir, kind, arch string) string {
	t.Helper()
	if kind != "deb" { // which has Go's names of those in the tests
		arch = machines[arch]
	}
	found, err := filepath.Glob(filepath.Join(dir, "drainit?*[._]"+arch+"."+kind))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, packages %s of %s: %q", err, kind, arch, found)
	}
	return filepath.Base(found[0])
}

// packaged are the files of a package by their names, as this repository has them.
func packaged(t *testing.T, arch string) map[string][]byte {
	t.Helper()
	files := make(map[string][]byte)
	for name, source := range map[string]string{
		"usr/bin/drainit": filepath.Join(release(t), "drainit-linux-"+arch),
		"usr/share/doc/drainit/copyright": filepath.Join(release(t),
			"drainit-licenses.txt"),
		"usr/share/doc/drainit/changelog": filepath.Join(released.clone, "CHANGELOG.md"),
		"usr/share/man/man1/drainit.1":    filepath.Join(released.clone, "docs/drainit.1"),
		"usr/share/doc/drainit/examples/Dockerfile.example": filepath.Join(released.clone,
			"Dockerfile.example"),
		"usr/share/bash-completion/completions/drainit": filepath.Join(released.clone,
			"docs/completion/drainit.bash"),
		"usr/share/zsh/vendor-completions/_drainit": filepath.Join(released.clone,
			"docs/completion/_drainit"),
		"usr/share/fish/vendor_completions.d/drainit.fish": filepath.Join(released.clone,
			"docs/completion/drainit.fish"),
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
		t.Errorf("%s: %d files, want %d; the program has mode %o", name, len(got), len(want),
			got["usr/bin/drainit"].mode)
	}
}

// wantPackaged compares the files of a package, some of which are compressed there. Systems other than Debian
// have another folder for zsh.
func wantPackaged(t *testing.T, name, arch string, got map[string]entry) {
	t.Helper()
	want := packaged(t, arch)
	if !strings.HasSuffix(name, ".deb") {
		otherZsh(want)
	}
	for _, name := range []string{"usr/share/doc/drainit/changelog", "usr/share/man/man1/drainit.1"} {
		got[name] = entry{got[name+".gz"].mode, gunzip(t, got[name+".gz"].data)}
		delete(got, name+".gz")
	}
	wantFiles(t, name, got, want)
}

// otherZsh puts the completion of zsh where systems other than Debian have it.
func otherZsh(files map[string][]byte) {
	const debian = "usr/share/zsh/vendor-completions/_drainit"
	files["usr/share/zsh/site-functions/_drainit"] = files[debian]
	delete(files, debian)
}

// dpkg-deb --info prints what is wrong with the control file on standard error.
func TestDebIsWhatItSays(t *testing.T) {
	harness.Need(t, "dpkg-deb", "sh", "md5sum")
	for _, arch := range arches() {
		name, root := packageOf(t, release(t), "deb", arch), t.TempDir()
		deb := filepath.Join(release(t), name)
		info := do(t, root, "sh", "-c", `exec dpkg-deb --info "$1" 2>&1`, "sh", deb)
		if strings.Contains(info, "warning") || strings.Contains(info, "error") {
			t.Errorf("%s: dpkg-deb --info says\n%s", arch, info)
		}
		for _, want := range []string{"Package: drainit\n", "Architecture: " + arch + "\n",
			"Maintainer: drainit\n"} {
			if !strings.Contains(info, want) {
				t.Errorf("%s: no %q in\n%s", arch, want, info)
			}
		}
		do(t, root, "sh", "-c", `dpkg-deb --fsys-tarfile "$1" >files.tar && dpkg-deb --control "$1" DEBIAN`,
			"sh", deb)
		got := untar(t, []byte(harness.TextOf(t, filepath.Join(root, "files.tar"))))
		do(t, root, "tar", "-xf", "files.tar")
		do(t, root, "md5sum", "--check", "--strict", "--quiet", "DEBIAN/md5sums")
		sums := harness.TextOf(t, filepath.Join(root, "DEBIAN/md5sums"))
		if strings.Count(sums, "\n") != len(got) {
			t.Errorf("%s: md5sums has not %d lines:\n%s", arch, len(got), sums)
		}
		wantPackaged(t, name, arch, got)
	}
}

// machines are the names that rpm and apk have for an architecture.
var machines = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}

// rpm installs it into a root of its own, whatever the architecture, and removes it again.
func TestRpmInstalls(t *testing.T) {
	harness.Need(t, "rpm")
	harness.NeedRoot(t)
	at := do(t, released.clone, "git", "log", "-1", "--format=%ct")
	for _, arch := range arches() {
		name, root := packageOf(t, release(t), "rpm", arch), t.TempDir()
		rpm := func(args ...string) string {
			return do(t, release(t), append([]string{"rpm", "--root=" + root, "--dbpath=/db"}, args...)...)
		}
		said := rpm("-qp", "--queryformat", "%{NAME} %{ARCH} %{SUMMARY}", name)
		if want := "drainit " +
			machines[arch] + " container init that drains its worker before it stops"; said != want {
			t.Errorf("%s says %q, want %q", name, said, want)
		}
		rpm("--install", "--ignorearch", name)
		rpm("--verify", "drainit")
		got := make(map[string]entry)
		for line := range strings.Lines(rpm("-q", "--queryformat",
			"[%{FILENAMES} %{FILEMODES:octal} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEMTIMES}\\n]",
			"drainit")) {
			var file, owner, time string
			var mode int64
			if _, err := fmt.Sscanf(line, "/%s %o %s %s", &file, &mode, &owner, &time); err != nil ||
				owner != "root:root" || time != at {
				t.Errorf("%s has %q, %v; want root's, of %s", name, line, err, at)
			}
			got[file] = entry{mode & 0o7777, []byte(harness.TextOf(t, filepath.Join(root, file)))}
		}
		wantPackaged(t, name, arch, got)
		rpm("--erase", "drainit")
		if left, _ := filepath.Glob(filepath.Join(root, "usr/*/*drainit*")); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	}
}

// An apk is two tars in a row, each compressed by itself: the first says what it is, and the second has
// the files. Debian has no apk to install it.
func TestApkIsWhatItSays(t *testing.T) {
	for _, arch := range arches() {
		name := packageOf(t, release(t), "apk", arch)
		rest := bytes.NewBuffer(read(t, name))
		about := gunzipNext(t, rest)
		sum := sha256.Sum256(rest.Bytes())
		for _, want := range []string{"pkgname = drainit\n", "\narch = " + machines[arch] + "\n",
			fmt.Sprintf("\ndatahash = %x\n", sum)} {
			if !strings.Contains(string(about), want) {
				t.Errorf("%s: no %q in\n%s", name, want, about)
			}
		}
		wantPackaged(t, name, arch, untar(t, gunzipNext(t, rest)))
	}
}

// dpkg installs it into a root of its own, and removes it again.
func TestDebInstalls(t *testing.T) {
	harness.Need(t, "dpkg")
	if os.Getuid() != 0 {
		harness.Skip(t, "needs root, for dpkg")
	}
	root := t.TempDir()
	do(t, root, "sh", "-c",
		"mkdir -p var/lib/dpkg/info var/lib/dpkg/updates var/lib/dpkg/parts && : >var/lib/dpkg/status")
	do(t, release(t), "dpkg", "--root="+root, "--log=/dev/null", "--install",
		packageOf(t, release(t), "deb", arches()[0]))
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
		otherZsh(want)
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
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || h.Gname != "root" ||
			fmt.Sprint(h.ModTime.Unix()) != at {
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
	return gunzipNext(t, bytes.NewBuffer(data))
}

// gunzipNext takes the next compressed part from what is left of a file.
func gunzipNext(t *testing.T, left *bytes.Buffer) []byte {
	t.Helper()
	r, err := gzip.NewReader(left)
	harness.Must(t, err)
	r.Multistream(false)
	data, err := io.ReadAll(r)
	harness.Must(t, err)
	return data
}
