package test

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// rootfs is the tar of an image's files while it is written.
type rootfs struct {
	*tar.Writer
	err error
}

// importImage makes an image from files of this machine, as changes say: it
// stands for one that comes from a registry.
func (d *dockerd) importImage(name string, changes []string, write func(r *rootfs)) error {
	args := []string{"import"}
	for _, change := range append([]string{"ENV PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, changes...) {
		args = append(args, "--change", change)
	}
	return feed(d.client(append(args, "-", name)...), write)
}

// feed runs a command that reads a tar.
func feed(cmd *exec.Cmd, write func(r *rootfs)) error {
	pipe, feeder := io.Pipe()
	cmd.Stdin = pipe
	go func() {
		r := &rootfs{Writer: tar.NewWriter(feeder)}
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
func (d *dockerd) importBase() error {
	return d.importImage("base", nil, func(r *rootfs) {
		r.busybox()
		r.copy("/drainit", drainitBin)
		r.copy("/worker", workerBin)
	})
}

// busybox adds a shell, the usual programs and a folder /tmp.
func (r *rootfs) busybox() {
	bin, err := exec.LookPath("busybox")
	if err != nil {
		r.fail(err)
		return
	}
	r.copy("/bin/busybox", bin)
	list, err := exec.Command(bin, "--list").Output()
	r.fail(err)
	for applet := range strings.FieldsSeq(string(list)) {
		if applet != "busybox" && applet != "init" {
			r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: "bin/" + applet, Linkname: "busybox"}))
		}
	}
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}))
}

func (r *rootfs) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// text adds a file that can be executed.
func (r *rootfs) text(name, text string) {
	r.fail(r.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name, "/"), Mode: 0o755, Size: int64(len(text))}))
	_, err := io.WriteString(r, text)
	r.fail(err)
}

// copy adds a file of this machine, or what a link of it leads to.
func (r *rootfs) copy(name, file string) {
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

// program adds a program of this machine and the libraries that it is linked to.
func (r *rootfs) program(name string) {
	file, err := exec.LookPath(name)
	if err != nil {
		r.fail(err)
		return
	}
	r.copy(file, file)
	out, err := exec.Command("ldd", file).Output()
	r.fail(err)
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			r.copy(word, word)
		}
	}
}

// tree adds the regular files below a folder, but those that skip says.
func (r *rootfs) tree(name, dir string, skip func(rel string) bool) {
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
			r.copy(path.Join(name, rel), file)
		}
		return r.err
	}))
}
