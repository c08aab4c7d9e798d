package engines

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"drainit/test/harness"
)

// ImportGo makes golang:1.26 of this machine's Go, with what it takes to build
// drainit without a network: the compiler, the packages that drainit takes, and a module proxy in a
// folder, of what go mod download has fetched.
func (d *Dockerd) ImportGo(t *testing.T) {
	goOutput := func(args ...string) string { // for the binaries as the tests build them
		cmd := exec.Command("go", args...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		return harness.OutputOf(t, cmd)
	}
	var g struct{ GOROOT, GOTOOLDIR, GOMODCACHE string }
	harness.Must(t, json.Unmarshal([]byte(goOutput("env", "-json", "GOROOT", "GOTOOLDIR", "GOMODCACHE")), &g))
	packages := goOutput("list", "-deps", "-f", "{{if .Standard}}{{.Dir}}{{end}}", "drainit",
		"drainit/test/cmd/worker")
	modules := goOutput("mod", "download", "-json")
	files := []string{filepath.Join(g.GOROOT, "bin/go"), filepath.Join(g.GOROOT, "go.env"),
		filepath.Join(g.GOROOT, "VERSION")}
	for _, tool := range []string{"asm", "compile", "link"} {
		files = append(files, filepath.Join(g.GOTOOLDIR, tool))
	}
	for _, dir := range append(strings.Fields(packages), filepath.Join(g.GOROOT, "pkg/include"),
		filepath.Join(g.GOROOT, "src/runtime/cgo")) {
		found, _ := filepath.Glob(filepath.Join(dir, "*.*")) // fails for a bad pattern only
		files = append(files, found...)
	}
	d.ImportImage(t, "golang:1.26", []string{"ENV GOTOOLCHAIN=local", "ENV GOPROXY=file:///goproxy"},
		func(r *Rootfs) {
			r.Busybox()
			for _, file := range files {
				if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
					r.Copy("/usr/local/go"+strings.TrimPrefix(file, g.GOROOT), file)
				}
			}
			for _, m := range regexp.MustCompile(`"(?:Info|GoMod|Zip)": "(.*)"`).
				FindAllStringSubmatch(modules, -1) {
				r.Copy("/goproxy"+strings.TrimPrefix(m[1], filepath.Join(g.GOMODCACHE, "cache/download")),
					m[1])
			}
		})
}

// Rootfs is the tar of an image's files while it is written.
type Rootfs struct {
	*tar.Writer
	err error
}

// ImportImage makes an image from files of this machine, as changes say: it
// stands for one that comes from a registry.
func (d *Dockerd) ImportImage(t *testing.T, name string, changes []string, write func(r *Rootfs)) {
	args := []string{"import"}
	for _, change := range append([]string{"ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		changes...) {
		args = append(args, "--change", change)
	}
	Feed(t, d.Client(append(args, "-", name)...), write)
}

// Feed runs a command that reads a tar, and must succeed.
func Feed(t *testing.T, cmd *exec.Cmd, write func(r *Rootfs)) {
	var files bytes.Buffer
	harness.Must(t, WriteTar(&files, write))
	cmd.Stdin = &files
	harness.OutputOf(t, cmd)
}

// WriteTar writes the tar of what write adds. The error is the first of all.
func WriteTar(to io.Writer, write func(r *Rootfs)) error {
	r := &Rootfs{Writer: tar.NewWriter(to)}
	write(r)
	return errors.Join(r.err, r.Close())
}

// Busybox adds a shell, the usual programs and a folder /tmp.
func (r *Rootfs) Busybox() {
	bin, err := exec.LookPath("busybox")
	r.fail(err)
	r.Copy("/bin/busybox", bin)
	list, err := exec.Command(bin, "--list").Output()
	r.fail(err)
	for applet := range strings.FieldsSeq(string(list)) {
		if applet != "busybox" && applet != "init" {
			r.Link("bin/"+applet, "busybox")
		}
	}
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
}

// Link adds a symbolic link.
func (r *Rootfs) Link(name, to string) {
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(name, "/"),
		Linkname: to}))
}

func (r *Rootfs) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Text adds a file that can be executed.
func (r *Rootfs) Text(name, text string) { r.add(name, []byte(text), 0o755) }

// Copy adds a file of this machine, or what a link of it leads to.
func (r *Rootfs) Copy(name, file string) {
	b, err := os.ReadFile(file)
	r.fail(err)
	if info, err := os.Stat(file); err == nil {
		r.add(name, b, info.Mode().Perm())
	}
}

func (r *Rootfs) add(name string, b []byte, mode fs.FileMode) {
	r.fail(r.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: int64(mode),
		Size: int64(len(b))}))
	_, err := r.Write(b)
	r.fail(err)
}

// Program adds a program of this machine and the libraries that it is linked to.
func (r *Rootfs) Program(name string) {
	file, err := exec.LookPath(name)
	r.fail(err)
	real, err := filepath.EvalSymlinks(file)
	r.fail(err)
	// a process shows it as its program: dash for sh
	if called := filepath.Base(real); called != filepath.Base(file) {
		r.Link(file, called)
		r.Copy(filepath.Join(filepath.Dir(file), called), real)
	} else {
		r.Copy(file, file)
	}
	out, err := exec.Command("ldd", file).CombinedOutput()
	if !strings.Contains(string(out), "not a dynamic executable") {
		r.fail(err)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			r.Copy(word, word)
		}
	}
}

// Tree adds the regular files below a folder, or one.
func (r *Rootfs) Tree(name, dir string) {
	r.fail(filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			r.Copy(name+strings.TrimPrefix(file, dir), file)
		}
		return err
	}))
}
