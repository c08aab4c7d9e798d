package harness

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// ImportGo makes golang:1.26 of this machine's Go, with what it takes to build
// drainit without a network: the compiler, the packages that drainit takes, and a module proxy in a
// folder, of what go mod download has fetched.
func (d *Dockerd) ImportGo() error {
	var g struct{ GOROOT, GOTOOLDIR, GOMODCACHE string }
	env, err := goOutput("env", "-json", "GOROOT", "GOTOOLDIR", "GOMODCACHE")
	packages, err2 := goOutput("list", "-deps", "-f", "{{if .Standard}}{{.Dir}}{{end}}", "drainit", "drainit/test/cmd/worker")
	modules, err3 := goOutput("mod", "download", "-json")
	if err := errors.Join(err, err2, err3, json.Unmarshal([]byte(env), &g)); err != nil {
		return err
	}
	files := []string{filepath.Join(g.GOROOT, "bin/go"), filepath.Join(g.GOROOT, "go.env"), filepath.Join(g.GOROOT, "VERSION")}
	for _, tool := range []string{"asm", "compile", "link"} {
		files = append(files, filepath.Join(g.GOTOOLDIR, tool))
	}
	for _, dir := range append(strings.Fields(packages), filepath.Join(g.GOROOT, "pkg/include"), filepath.Join(g.GOROOT, "src/runtime/cgo")) {
		found, _ := filepath.Glob(filepath.Join(dir, "*.*")) // fails for a bad pattern only
		files = append(files, found...)
	}
	changes := []string{"ENV GOTOOLCHAIN=local", "ENV GOPROXY=file:///goproxy"}
	return d.ImportImage("golang:1.26", changes, func(r *Rootfs) {
		r.Busybox()
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				r.Copy("/usr/local/go"+strings.TrimPrefix(file, g.GOROOT), file)
			}
		}
		for _, m := range regexp.MustCompile(`"(?:Info|GoMod|Zip)": "(.*)"`).FindAllStringSubmatch(modules, -1) {
			r.Copy("/goproxy"+strings.TrimPrefix(m[1], filepath.Join(g.GOMODCACHE, "cache/download")), m[1])
		}
	})
}

// goOutput is what a go command prints, for the binaries as the tests build them.
func goOutput(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	return string(out), err
}

// Rootfs is the tar of an image's files while it is written.
type Rootfs struct {
	*tar.Writer
	err error
}

// ImportImage makes an image from files of this machine, as changes say: it
// stands for one that comes from a registry.
func (d *Dockerd) ImportImage(name string, changes []string, write func(r *Rootfs)) error {
	args := []string{"import"}
	for _, change := range append([]string{"ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, changes...) {
		args = append(args, "--change", change)
	}
	return Feed(d.Client(append(args, "-", name)...), write)
}

// Feed runs a command that reads a tar.
func Feed(cmd *exec.Cmd, write func(r *Rootfs)) error {
	pipe, feeder := io.Pipe()
	cmd.Stdin = pipe
	go func() { feeder.CloseWithError(WriteTar(feeder, write)) }()
	out, err := cmd.CombinedOutput()
	pipe.Close()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// WriteTar writes a tar.
func WriteTar(to io.Writer, write func(r *Rootfs)) error {
	r := &Rootfs{Writer: tar.NewWriter(to)}
	write(r)
	return errors.Join(r.err, r.Close())
}

// importBase makes the image of most tests: drainit, the tests' worker, tini as
// Docker has it, and a shell with the usual programs.
func (d *Dockerd) importBase() error {
	return d.ImportImage("base", nil, func(r *Rootfs) {
		r.Busybox()
		r.Copy("/drainit", DrainitBin)
		r.Copy("/worker", WorkerBin)
	})
}

// Busybox adds a shell, the usual programs and a folder /tmp.
func (r *Rootfs) Busybox() {
	bin := r.find("busybox")
	r.Copy("/bin/busybox", bin)
	list, err := exec.Command(bin, "--list").Output()
	r.fail(err)
	for applet := range strings.FieldsSeq(string(list)) {
		if applet != "busybox" && applet != "init" {
			r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox"}))
		}
	}
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
}

// UsesMerged adds the links to /usr, which may be this machine's.
func (r *Rootfs) UsesMerged() {
	for _, dir := range []string{"lib", "lib64"} {
		r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: dir, Linkname: "usr/" + dir}))
	}
}

// find is where a program of this machine is.
func (r *Rootfs) find(program string) string {
	path, err := exec.LookPath(program)
	r.fail(err)
	return path
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
	r.fail(r.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: int64(mode), Size: int64(len(b))}))
	_, err := r.Write(b)
	r.fail(err)
}

// Program adds a program of this machine and the libraries that it is linked to.
func (r *Rootfs) Program(name string) {
	file := r.find(name)
	real, err := filepath.EvalSymlinks(file)
	r.fail(err)
	if called := filepath.Base(real); called != filepath.Base(file) { // a process shows it as its program: dash for sh
		r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(file, "/"), Linkname: called}))
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

// Tree adds the regular files below a folder, but those that skip says.
func (r *Rootfs) Tree(name, dir string, skip func(rel string) bool) {
	r.fail(filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(file, dir), "/")
		switch {
		case err != nil:
			return err
		case skip(rel) && e.IsDir():
			return filepath.SkipDir
		case e.Type().IsRegular() && !skip(rel):
			r.Copy(filepath.Join(name, rel), file)
		}
		return r.err
	}))
}
