package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// docs are the files that packages have beside the binary.
type docs struct {
	man, example    []byte
	bash, zsh, fish []byte // completions
	licenses        []byte
}

// readDocs reads them from the folder that the packages are made in, the repository's.
func (r *release) readDocs() (docs, error) {
	licenses, err := r.readLicenses()
	read := func(name string) []byte {
		data, failed := os.ReadFile(name)
		err = errors.Join(err, failed)
		return data
	}
	d := docs{
		read("docs/drainit.1"), read("Dockerfile.example"),
		read("docs/completion/drainit.bash"), read("docs/completion/_drainit"),
		read("docs/completion/drainit.fish"), licenses,
	}
	return d, err
}

// The folders of a package, as Debian and Alpine have them.
const (
	manDir  = "usr/share/man/man1/"
	bashDir = "usr/share/bash-completion/completions/"
	fishDir = "usr/share/fish/vendor_completions.d/"
	docDir  = "usr/share/doc/drainit/"
)

// tree is what a packager unpacks into the root of a package of another kind. Nothing in
// it is compressed: whether a manual page is, differs from one to the other.
func (r *release) tree(b binary, d docs) []byte {
	return gzipped(tarOf(r.time, []file{
		{"usr/bin/drainit", 0o755, b.data},
		{manDir + "drainit.1", 0o644, d.man},
		{bashDir + "drainit", 0o644, d.bash},
		{"usr/share/zsh/site-functions/_drainit", 0o644, d.zsh},
		{fishDir + "drainit.fish", 0o644, d.fish},
		{docDir + "copyright", 0o644, d.licenses},
		{docDir + "examples/Dockerfile.example", 0o644, d.example},
	}))
}

// readLicenses is the licences of what is linked into the binaries, which ask to be
// handed on with them: Go's own, and each module's.
func (r *release) readLicenses() ([]byte, error) {
	text := fmt.Appendf(nil,
		"drainit %s is linked from Go and the modules below. Their licences follow.\n", r.version)
	text, err := appendLicenses(text, "Go "+r.goVersion(), "env", "GOROOT")
	for _, m := range r.binaries[0].info.Deps {
		if err == nil {
			text, err = appendLicenses(text, m.Path+" "+m.Version, "list", "-m", "-f", "{{.Dir}}", m.Path)
		}
	}
	return text, err
}

// appendLicenses appends the licence files of the folder that a go command prints.
func appendLicenses(text []byte, name string, where ...string) ([]byte, error) {
	cmd := exec.Command("go", where...)
	cmd.Stderr = os.Stderr
	dir, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot run go %s: %w", strings.Join(where, " "), err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "LICEN[CS]E*"))
	if err != nil || len(files) == 0 {
		return nil, errors.Join(fmt.Errorf("%s has no licence in %s", name, dir), err)
	}
	for _, path := range files {
		license, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		text = fmt.Appendf(text, "\n==== %s: %s\n\n%s", name, filepath.Base(path), license)
	}
	return text, nil
}
