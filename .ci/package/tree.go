package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// docs are the files that packages have beside the binary.
type docs struct {
	man, example, changelog []byte
	licenses                []byte
}

// readDocs reads them from the folder that the packages are made in, the repository's.
func (r *release) readDocs() (docs, error) {
	var d docs
	for name, data := range map[string]*[]byte{
		"docs/drainit.1": &d.man, "Dockerfile.example": &d.example, "CHANGELOG.md": &d.changelog,
	} {
		var err error
		if *data, err = os.ReadFile(name); err != nil {
			return docs{}, err
		}
	}
	var err error
	d.licenses, err = r.readLicenses()
	return d, err
}

// The folders of a package, as Debian and Alpine have them.
const (
	manDir = "usr/share/man/man1/"
	docDir = "usr/share/doc/drainit/"
)

// tree is what a packager unpacks into the root of a package of another kind. Nothing in
// it is compressed: whether a manual page is, differs from one to the other.
func (r *release) tree(b binary, d docs) []byte {
	return gzipped(tarOf(r.time, "", []file{
		{"usr/bin/drainit", 0o755, b.data},
		{manDir + "drainit.1", 0o644, d.man},
		{docDir + "copyright", 0o644, d.licenses},
		{docDir + "examples/Dockerfile.example", 0o644, d.example},
	}))
}

// readLicenses is the licences of what is linked into the binaries, which ask to be
// handed on with them: Go's own, and each module's.
func (r *release) readLicenses() ([]byte, error) {
	text := fmt.Appendf(nil, "drainit %s is linked from Go and the modules below. Their licences follow.\n", r.version)
	root, err := goSays("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	if text, err = appendLicenses(text, "Go "+r.goVersion(), root); err != nil {
		return nil, err
	}
	for _, m := range r.binaries[0].info.Deps {
		dir, err := goSays("list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return nil, err
		}
		if text, err = appendLicenses(text, m.Path+" "+m.Version, dir); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// appendLicenses appends the licence files of a folder.
func appendLicenses(text []byte, name, dir string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(dir, "LICEN[CS]E*"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no licence in %s", name, dir)
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

// goSays is what a go command prints.
func goSays(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("cannot run go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
