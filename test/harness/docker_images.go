package harness

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// goFolders are where this machine's Go is, and what it has fetched and compiled.
type goFolders struct{ GOROOT, GOTOOLDIR, GOMODCACHE, GOCACHE string }

// ImportGo makes golang:1.26 of this machine's Go, with what it takes to build
// drainit without a network.
func (d *Dockerd) ImportGo() error {
	var g goFolders
	out, err := goOutput("env", "-json", "GOROOT", "GOTOOLDIR", "GOMODCACHE", "GOCACHE")
	if err = errors.Join(err, json.Unmarshal([]byte(out), &g)); err != nil {
		return err
	}
	changes := []string{"ENV GOTOOLCHAIN=local", "ENV GOPROXY=file:///goproxy", "ENV GOCACHE=/gocache"}
	return d.ImportImage("golang:1.26", changes, func(r *Rootfs) {
		r.Busybox()
		r.fail(errors.Join(g.distribution(r), g.modules(r), g.compiled(r)))
	})
}

// goOutput is what a go command prints, for the binaries as the tests build them.
func goOutput(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	return string(out), err
}

// distribution adds the compiler and those packages that drainit takes.
func (g goFolders) distribution(r *Rootfs) error {
	add := func(file string) { r.Copy("/usr/local/go"+strings.TrimPrefix(file, g.GOROOT), file) }
	for _, file := range []string{"bin/go", "go.env", "VERSION"} {
		add(filepath.Join(g.GOROOT, file))
	}
	for _, tool := range []string{"asm", "compile", "link"} {
		add(filepath.Join(g.GOTOOLDIR, tool))
	}
	packages, err := goOutput("list", "-deps", "-f", "{{if .Standard}}{{.Dir}}{{end}}", "drainit", "drainit/test/cmd/worker")
	headers := []string{filepath.Join(g.GOROOT, "pkg/include"), filepath.Join(g.GOROOT, "src/runtime/cgo")}
	for _, dir := range append(strings.Fields(packages), headers...) {
		files, _ := filepath.Glob(filepath.Join(dir, "*.*"))
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				add(file)
			}
		}
	}
	return err
}

// modules adds a module proxy in a folder: what go mod download has fetched.
func (g goFolders) modules(r *Rootfs) error {
	modules, err := goOutput("mod", "download", "-json")
	for _, m := range regexp.MustCompile(`"(?:Info|GoMod|Zip)": "(.*)"`).FindAllStringSubmatch(modules, -1) {
		r.Copy("/goproxy"+strings.TrimPrefix(m[1], filepath.Join(g.GOMODCACHE, "cache/download")), m[1])
	}
	return err
}

// compiled adds the entries of the Go cache that hold the packages of drainit and
// the worker as the tests have built them. They spare the image's build 15 s of
// a processor; should the cache be laid out otherwise some day, it compiles.
func (g goFolders) compiled(r *Rootfs) error {
	add := func(file string) { r.Copy("/gocache"+strings.TrimPrefix(file, g.GOCACHE), file) }
	entry := func(id []byte) string {
		return filepath.Join(g.GOCACHE, fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x", id))
	}
	packages, err := goOutput("list", "-deps", "-export", "-trimpath", "-f", "{{.BuildID}} {{.Export}}", "drainit", "drainit/test/cmd/worker")
	for line := range strings.Lines(packages) {
		build, archive, _ := strings.Cut(strings.TrimSpace(line), " ")
		action, _, _ := strings.Cut(build, "/")
		begin, _ := base64.RawURLEncoding.DecodeString(action)
		if len(begin) == 0 {
			continue // unsafe has no archive
		}
		add(archive)
		found, _ := filepath.Glob(entry(begin) + "*-a")
		for _, file := range found {
			add(file)
			id, _ := hex.DecodeString(strings.TrimSuffix(filepath.Base(file), "-a"))
			printed := sha256.Sum256([]byte("subkey:" + string(id) + "stdout")) // what the compiler printed: nothing
			if _, err := os.Stat(entry(printed[:]) + "-a"); err == nil {
				add(entry(printed[:]) + "-a")
			}
		}
	}
	nothing := sha256.Sum256(nil)
	add(entry(nothing[:]) + "-d")
	return err
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
	go func() {
		r := &Rootfs{Writer: tar.NewWriter(feeder)}
		write(r)
		feeder.CloseWithError(errors.Join(r.err, r.Close()))
	}()
	out, err := cmd.CombinedOutput()
	pipe.Close()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
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
	bin, err := exec.LookPath("busybox")
	if err != nil {
		r.fail(err)
		return
	}
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

func (r *Rootfs) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Text adds a file that can be executed.
func (r *Rootfs) Text(name, text string) {
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(text))}))
	_, err := io.WriteString(r, text)
	r.fail(err)
}

// Copy adds a file of this machine, or what a link of it leads to.
func (r *Rootfs) Copy(name, file string) {
	f, err := os.Open(file)
	if err != nil {
		r.fail(err)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		r.fail(err)
		return
	}
	r.fail(r.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: int64(info.Mode().Perm()), Size: info.Size(), ModTime: info.ModTime()}))
	_, err = io.Copy(r, f)
	r.fail(err)
}

// Program adds a program of this machine and the libraries that it is linked to.
func (r *Rootfs) Program(name string) {
	file, err := exec.LookPath(name)
	if err != nil {
		r.fail(err)
		return
	}
	r.Copy(file, file)
	out, err := exec.Command("ldd", file).Output()
	r.fail(err)
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			r.Copy(word, word)
		}
	}
}

// Tree adds the regular files below a folder, but those that skip says.
func (r *Rootfs) Tree(name, dir string, skip func(rel string) bool) {
	r.fail(filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, file)
		switch {
		case err != nil:
			return err
		case skip(rel) && e.IsDir():
			return filepath.SkipDir
		case e.Type().IsRegular() && !skip(rel):
			r.Copy(path.Join(name, rel), file)
		}
		return r.err
	}))
}
