// Package delivery makes a release of this repository and looks at what it consists of,
// with the programs of those who will use it: docker, podman, dpkg, rpm.
package delivery

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
	"drainit/test/harness/engines"
)

func TestSumsListTheFilesOfEachArchitecture(t *testing.T) {
	dir, v := release(t), version(t)
	do(t, dir, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
	want := []string{"drainit-licenses.txt", "drainit.spdx.json", "drainit-oci.tar"}
	for _, arch := range arches() {
		want = append(want, "drainit-linux-"+arch, "drainit-image-linux-"+arch+".tar",
			"drainit-"+v+"-linux-"+arch+".tar.gz")
		for _, kind := range kinds {
			want = append(want, packageOf(t, dir, kind, arch))
		}
	}
	slices.Sort(want)
	var listed []string
	for line := range strings.Lines(string(read(t, "SHA256SUMS"))) {
		listed = append(listed, strings.Fields(line)[1])
	}
	if got := filesIn(t, dir); !slices.Equal(listed, want) ||
		!slices.Equal(got, append([]string{"SHA256SUMS"}, want...)) {
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
	harness.Must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// The line names the tag, and ends as dockerd reads it. The versions of the packages sort as the
// releases follow each other.
func TestVersionNamesTheTag(t *testing.T) {
	needClone(t)
	harness.Need(t, "dpkg", "dpkg-deb", "rpm")
	dir := filepath.Join(t.TempDir(), "clone")
	clone(t, dir)
	const commit = `\d{14}-[0-9a-f]{12}`
	before := ""
	for _, s := range []struct {
		name, change   string
		line, deb, apk string
	}{
		{"no tag", "true", `v0\.0\.0-` + commit, `0\.0\.0~\d{14}\.[0-9a-f]{7}`, `0\.0\.0_alpha\d{14}`},
		{"a candidate", "git tag v1.2.3-rc.1", `v1\.2\.3-rc\.1`, `1\.2\.3~rc\.1`, `1\.2\.3_rc1`},
		{"after it", "git commit -q --allow-empty -m next", `v1\.2\.3-rc\.1\.0\.` + commit,
			`1\.2\.3~rc\.1\.0\.\d{14}\.[0-9a-f]{7}`,
			`1\.2\.3_rc1_git\d{14}`},
		{"a tag", "git tag -a -m release v1.2.3", `v1\.2\.3`, `1\.2\.3`, `1\.2\.3`},
		{"a change that is not committed", "echo >>README.md", `v1\.2\.3\+dirty`,
			`1\.2\.3\+dirty`, `1\.2\.3`},
		{"after the tag", "git commit -qam next", `v1\.2\.4-0\.` + commit, `1\.2\.4~0\.\d{14}\.[0-9a-f]{7}`,
			`1\.2\.4_alpha\d{14}`},
	} {
		do(t, dir, "sh", "-c", s.change)
		out, arch := t.TempDir(), arches()[0]
		makeRelease(t, dir, out, arch)
		line := do(t, out, "./drainit-linux-"+arch, "--version")
		head := do(t, dir, "git", "rev-parse", "HEAD")
		if !regexp.MustCompile(`^drainit ` + s.line + ` go1\S* - git\.` + head[:7] + `$`).MatchString(line) {
			t.Errorf("%s: %q", s.name, line)
		}
		is := versionsIn(t, out, arch)
		if !regexp.MustCompile(`^`+s.deb+`$`).MatchString(is["deb"]) || is["rpm"] != is["deb"] {
			t.Errorf("%s: the versions are %q", s.name, is)
		}
		if !regexp.MustCompile(`^` + s.apk + `$`).MatchString(is["apk"]) {
			t.Errorf("%s: Alpine's version is %q", s.name, is["apk"])
		}
		if before != "" {
			do(t, "", "dpkg", "--compare-versions", before, "lt", is["deb"])
			if order := do(t, "", "rpm", "--eval", `%{lua:print(rpm.vercmp("`+before+`", "`+
				is["rpm"]+`"))}`); order != "-1" {
				t.Errorf("%s: of rpm's versions %s is not after %s: %s", s.name, is["rpm"], before, order)
			}
		}
		before = is["deb"]
	}
}

// versionsIn are the versions of the packages of an architecture, as they say themselves.
func versionsIn(t *testing.T, dir, arch string) map[string]string {
	t.Helper()
	apk := bytes.NewBufferString(harness.TextOf(t, filepath.Join(dir, packageOf(t, dir, "apk", arch))))
	_, version, _ := strings.Cut(string(gunzipNext(t, apk)), "\npkgver = ")
	version, _, _ = strings.Cut(version, "\n")
	return map[string]string{
		"deb": do(t, dir, "dpkg-deb", "--field", packageOf(t, dir, "deb", arch), "Version"),
		"rpm": do(t, dir, "rpm", "-qp", "--queryformat", "%{VERSION}", packageOf(t, dir, "rpm", arch)),
		"apk": version,
	}
}

func TestMain(m *testing.M) { harness.Main(m) }

// do runs a command that must succeed, in a folder, and returns its standard output.
func do(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = dir
	return harness.OutputOf(t, cmd)
}

// clone makes a clone of this repository, without its tags, so that the version is known. What is
// not committed is a commit in it: a new file once it has been added.
func clone(t *testing.T, dir string) {
	t.Helper()
	do(t, "", "sh", "-c", `set -e
		git clone -q "$(git rev-parse --show-toplevel)" "$1"
		git diff HEAD --binary >"$1/.git/changes"
		cd "$1"
		git tag | xargs -r git tag -d >/dev/null
		[ ! -s .git/changes ] || { git apply --index .git/changes && git commit -qm changes; }`, "sh", dir)
}

func makeRelease(t *testing.T, clone, dir string, arches ...string) {
	t.Helper()
	do(t, clone, append([]string{".ci/release", dir}, arches...)...)
}

// arches are the architectures of the shared release. The first is this machine's.
func arches() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"arm64", "amd64"}
	}
	return []string{runtime.GOARCH, "arm64"}
}

// released is a release that the tests share: of this machine's architecture and another.
var released struct{ clone, dir string }

// release is the folder of the shared release.
func release(t *testing.T) string {
	t.Helper()
	needClone(t)
	if released.dir == "" {
		released.clone = filepath.Join(os.TempDir(), "clone")
		clone(t, released.clone)
		dir := filepath.Join(os.TempDir(), "release")
		makeRelease(t, released.clone, dir, arches()...)
		released.dir = dir
	}
	return released.dir
}

// needClone asks for what a release is made of and with. The clone may be another user's, as in CI.
func needClone(t *testing.T) {
	t.Helper()
	harness.Full(t)
	harness.Need(t, "git", "go", "bash", "sha256sum")
	settings := filepath.Join(os.TempDir(), "gitconfig")
	harness.WriteFile(t, settings,
		"[safe]\n\tdirectory = *\n[user]\n\tname = test\n\temail = test@localhost\n")
	os.Setenv("GIT_CONFIG_GLOBAL", settings)
	if exec.Command("git", "rev-parse", "HEAD").Run() != nil {
		harness.Skip(t, "needs a clone of the repository")
	}
}

// version is the shared release's, as its files name it.
func version(t *testing.T) string {
	t.Helper()
	words := strings.Fields(do(t, release(t), "./drainit-linux-"+arches()[0], "--version"))
	if len(words) < 2 {
		t.Fatalf("version line %q", words)
	}
	return strings.TrimPrefix(words[1], "v")
}

// read is a file of the shared release.
func read(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(harness.TextOf(t, filepath.Join(release(t), name)))
}

// reference is the name of the loaded image.
func reference(t *testing.T) string {
	t.Helper()
	return "localhost/drainit:" + strings.ReplaceAll(version(t), "+", "-")
}

// imageTars are the one of this machine's architecture and the one with all.
func imageTars() []string {
	return []string{"drainit-image-linux-" + arches()[0] + ".tar", "drainit-oci.tar"}
}

// A Docker engine loads the image of one architecture, runs it, and copies drainit from it into
// another. The containerd below it loads the one with all as well, as a Docker with containerd's
// image store does.
func TestDockerLoadsTheImage(t *testing.T) {
	d, ref := engines.Docker(t), reference(t)
	if out := d.Do(t, "load", "--input", filepath.Join(release(t), imageTars()[0])); !strings.Contains(out,
		"Loaded image: "+ref) {
		t.Errorf("it is loaded as something else: %s", out)
	}
	if got := d.Do(t, "image", "inspect", "--format", "{{.Os}}/{{.Architecture}} {{.Config.Entrypoint}}",
		ref); got != "linux/"+runtime.GOARCH+" [/drainit]" {
		t.Errorf("it is %s", got)
	}
	build := d.Client("build", "--network", "none", "--tag", "other", "-")
	build.Stdin = strings.NewReader("FROM scratch\nCOPY --from=" + ref +
		" /drainit /init\nENTRYPOINT [\"/init\", \"--\", \"/init\"]\n")
	harness.OutputOf(t, build)
	for _, image := range []string{ref, "other"} {
		if got := d.Do(t, "run", "--rm", "--network", "none", image, "--version"); !strings.HasPrefix(got,
			"drainit v"+version(t)+" ") {
			t.Errorf("%s says %q", image, got)
		}
	}
	t.Run("containerd", func(t *testing.T) {
		harness.Need(t, "ctr")
		for _, file := range imageTars() {
			ctr := func(args ...string) string {
				return do(t, release(t), append([]string{"ctr", "--address", d.Containerd(), "--namespace",
					file}, args...)...)
			}
			ctr("images", "import", file)
			if got := ctr("images", "list", "--quiet"); got != ref {
				t.Errorf("%s is loaded as %s", file, got)
			}
			if got := ctr("images", "check"); !strings.Contains(got, " complete (2/2) ") {
				t.Errorf("%s is not complete:\n%s", file, got)
			}
			ctr("images", "remove", "--sync", ref)
		}
	})
}

// podman loads either tar, and takes this machine's image of the one with all.
func TestPodmanLoadsTheImage(t *testing.T) {
	for _, file := range imageTars() {
		p, ref := engines.StartPodman(t, 0, "", ""), reference(t)
		if out := p.Ask("load", "--quiet", "--input",
			filepath.Join(release(t), file)); !strings.HasSuffix(out, ": "+ref) {
			t.Errorf("%s is loaded as something else: %s", file, out)
		}
		got := p.Ask("run", "--rm", "--pull", "never", "--network", "host", "--cgroup-parent",
			p.Cgroup(), ref, "--version")
		if !strings.HasPrefix(got, "drainit v"+version(t)+" ") {
			t.Errorf("%s: the image says %q", file, got)
		}
		dockerfile := filepath.Join(p.Dir, "Dockerfile")
		harness.Must(t, os.WriteFile(dockerfile, []byte("FROM scratch\nCOPY --from="+ref+" /drainit /init\n"),
			0o644))
		p.Ask("build", "--quiet", "--network", "host", "--tag", "other", "--file", dockerfile, t.TempDir())
	}
}
