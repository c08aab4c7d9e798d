package ociruntime

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// settingsFile may say more than the name by which the runtime was started. It is read at each call.
const settingsFile = "/etc/drainit/runtime.json"

// settings are what that file has.
type settings struct {
	runtime    string   // the path of the runtime below, "" for that in PATH
	namespaces []string // whose pods get drainit, if the runtime is the node's default one
}

// readSettings reads a file with settings, which need not be there. With an error, it returns what is good of
// it: the runtime below is needed in any case.
func readSettings(file string) (s settings, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	all, valid := readJSON(text)
	switch {
	case err != nil:
		return s, err
	case !valid || !all.is('{'):
		const words = `%s: invalid JSON: want {"runtime": "/usr/sbin/runc", "namespaces": ["jobs"]}`
		return s, fmt.Errorf(words, file)
	}
	all.each(func(key, value node) {
		var mistake error
		switch name := key.string(); name {
		case "runtime":
			if s.runtime = value.string(); !filepath.IsAbs(s.runtime) || Is(s.runtime) {
				mistake = fmt.Errorf("invalid runtime %q: want the path of runc or crun", s.runtime)
				s.runtime = ""
			}
		case "namespaces":
			if s.namespaces = value.strings(); !value.is('[') {
				mistake = errors.New(`invalid namespaces: want a list, as ["jobs"]`)
			}
		default:
			mistake = fmt.Errorf("no setting is called %q: want runtime or namespaces", name)
		}
		if mistake != nil {
			err = cmp.Or(err, fmt.Errorf("%s: %w", file, mistake))
		}
	})
	return s, err
}
