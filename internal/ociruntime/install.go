package ociruntime

import (
	"os"

	"golang.org/x/sys/unix"
)

// Install copies the running program into a folder, as drainit, and makes the links by which it is a runtime.
// It replaces what is there at one moment: a container that runs keeps the file that it was given.
func Install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	err = replace(dir+"/drainit", program, 0o755, -1, -1)
	for _, name := range []string{Name, DefaultName} {
		if err == nil {
			err = atOnce(dir+"/"+name, func(beside string) error { return unix.Symlink("drainit", beside) })
		}
	}
	return err
}
