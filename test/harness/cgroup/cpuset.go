package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Cpuset is a cgroup that says which processors its processes may run on.
type Cpuset struct{ Dir string }

// NewCpuset makes one with these processors, as in "0-3,7". The error says why there is
// none, of each hierarchy.
func NewCpuset(name, processors string) (Cpuset, error) {
	hierarchies, err := mounted("cpuset")
	if err != nil {
		return Cpuset{}, err
	}
	failed := []error{errors.New("needs a cgroup whose processors it may write (cpuset.cpus)")}
	for _, h := range hierarchies {
		g := Cpuset{filepath.Join(h.Dir, name)}
		if err := g.make(h, processors); err != nil {
			failed = append(failed, err)
			continue
		}
		return g, nil
	}
	return Cpuset{}, errors.Join(failed...)
}

func (g Cpuset) make(in hierarchy, processors string) error {
	if err := in.makeChild("cpuset", g.Dir); err != nil {
		return err
	}
	if err := errors.Join(g.inherit("cpuset.mems"), g.Set(processors)); err != nil {
		return errors.Join(err, os.Remove(g.Dir))
	}
	return nil
}

// inherit gives it what the one above has: version 1 has nothing in a new one.
func (g Cpuset) inherit(file string) error {
	b, err := os.ReadFile(filepath.Join(filepath.Dir(g.Dir), strings.Replace(file, ".", ".effective_", 1)))
	if err != nil { // version 2
		return nil
	}
	return os.WriteFile(filepath.Join(g.Dir, file), b, 0)
}

// Set says which processors its processes may run on from now on.
func (g Cpuset) Set(processors string) error {
	err := os.WriteFile(filepath.Join(g.Dir, "cpuset.cpus"), []byte(processors), 0)
	if err != nil {
		return fmt.Errorf("processors %q: %w", processors, err)
	}
	return nil
}

// Busy reports whether it can't be removed yet, for a process is in it. It removes it
// otherwise.
func (g Cpuset) Busy() bool { return isBusy(g.Dir) }
