package test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// goFolders are where this machine's Go is, and what it has fetched and compiled.
type goFolders struct{ GOROOT, GOTOOLDIR, GOMODCACHE, GOCACHE string }

// importGo makes golang:1.26 of this machine's Go, with what it takes to build
// drainit without a network.
func (d *dockerd) importGo() error {
	var g goFolders
	out, err := goOutput("env", "-json", "GOROOT", "GOTOOLDIR", "GOMODCACHE", "GOCACHE")
	if err = errors.Join(err, json.Unmarshal([]byte(out), &g)); err != nil {
		return err
	}
	changes := []string{"ENV GOTOOLCHAIN=local", "ENV GOPROXY=file:///goproxy", "ENV GOCACHE=/gocache"}
	return d.importImage("golang:1.26", changes, func(r *rootfs) {
		r.busybox()
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
func (g goFolders) distribution(r *rootfs) error {
	add := func(file string) { r.copy("/usr/local/go"+strings.TrimPrefix(file, g.GOROOT), file) }
	for _, file := range []string{"bin/go", "go.env", "VERSION"} {
		add(filepath.Join(g.GOROOT, file))
	}
	for _, tool := range []string{"asm", "compile", "link"} {
		add(filepath.Join(g.GOTOOLDIR, tool))
	}
	packages, err := goOutput("list", "-deps", "-f", "{{if .Standard}}{{.Dir}}{{end}}", "drainit", "drainit/test/worker")
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
func (g goFolders) modules(r *rootfs) error {
	modules, err := goOutput("mod", "download", "-json")
	for _, m := range regexp.MustCompile(`"(?:Info|GoMod|Zip)": "(.*)"`).FindAllStringSubmatch(modules, -1) {
		r.copy("/goproxy"+strings.TrimPrefix(m[1], filepath.Join(g.GOMODCACHE, "cache/download")), m[1])
	}
	return err
}

// compiled adds the entries of the Go cache that hold the packages of drainit and
// the worker as the tests have built them. They spare the image's build 15 s of
// a processor; should the cache be laid out otherwise some day, it compiles.
func (g goFolders) compiled(r *rootfs) error {
	add := func(file string) { r.copy("/gocache"+strings.TrimPrefix(file, g.GOCACHE), file) }
	entry := func(id []byte) string {
		return filepath.Join(g.GOCACHE, fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x", id))
	}
	packages, err := goOutput("list", "-deps", "-export", "-trimpath", "-f", "{{.BuildID}} {{.Export}}", "drainit", "drainit/test/worker")
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
