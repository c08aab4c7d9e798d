package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// release is the binaries of one commit, and what all of them say of it.
type release struct {
	version  string    // as --version names it, without its v: 1.2.3
	revision string    // the commit
	time     time.Time // of the commit, and of every file in the packages
	binaries []binary  // sorted by architecture
}

// binary is a released program.
type binary struct {
	arch     string // Go's name of it
	settings map[string]string
	info     *debug.BuildInfo
	data     []byte
}

// readRelease reads the binaries in dir. All of them must be of the same commit, and
// have the same modules: the bill of materials is one for all.
func readRelease(dir string) (*release, error) {
	names, err := filepath.Glob(filepath.Join(dir, "drainit-linux-*"))
	if err != nil {
		return nil, err
	}
	r := &release{}
	for _, name := range names { // sorted
		b, err := readBinary(name)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", name, err)
		}
		r.binaries = append(r.binaries, b)
	}
	if len(r.binaries) == 0 {
		return nil, fmt.Errorf("%s holds no binary", dir)
	}
	return r, r.identify()
}

func readBinary(name string) (binary, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return binary{}, err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return binary{}, err
	}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if !strings.HasSuffix(name, "drainit-linux-"+settings["GOARCH"]) {
		return binary{}, fmt.Errorf("it is for %s", settings["GOARCH"])
	}
	return binary{settings["GOARCH"], settings, info, data}, nil
}

// identify takes the version from the binaries.
func (r *release) identify() error {
	first := r.binaries[0]
	r.version = strings.TrimPrefix(first.info.Main.Version, "v")
	r.revision = first.settings["vcs.revision"]
	if r.revision == "" {
		return errors.New("the binaries do not name their commit")
	}
	for _, b := range r.binaries {
		if b.info.Main.Version != first.info.Main.Version || b.settings["vcs.revision"] != r.revision {
			return fmt.Errorf("%s is of another commit than %s", b.arch, first.arch)
		}
		if b.info.GoVersion != first.info.GoVersion ||
			!slices.EqualFunc(b.info.Deps, first.info.Deps, sameModule) {
			return fmt.Errorf("%s is linked from other modules than %s", b.arch, first.arch)
		}
	}
	var err error
	r.time, err = time.Parse(time.RFC3339, first.settings["vcs.time"])
	return err
}

func sameModule(a, b *debug.Module) bool {
	return a.Path == b.Path && a.Version == b.Version && a.Sum == b.Sum && a.Replace == nil &&
		b.Replace == nil
}

// created is the commit's time, as images and the bill of materials have it.
func (r *release) created() string { return r.time.UTC().Format(time.RFC3339) }

// goVersion is the toolchain's version: 1.26.8.
func (r *release) goVersion() string {
	version, _, _ := strings.Cut(r.binaries[0].info.GoVersion, " ") // experiments come after it
	return strings.TrimPrefix(version, "go")
}
