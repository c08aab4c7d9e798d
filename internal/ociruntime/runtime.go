// Package ociruntime is drainit as an OCI runtime, for platforms that have no --init: containerd, CRI-O,
// Docker or podman calls it in place of runc. Where a container is made, it changes the config.json of the
// bundle so that drainit is the first process. Then, as at every other call, it becomes the runtime below.
//
// It owns which containers get drainit, what is changed for that, and the installation on a node. It must
// never keep a container from starting that would start without it: whatever it can't read, understand or do,
// the runtime below is executed with the file as it was, and one line says why.
package ociruntime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// The names by which drainit is a runtime. By the first one each container gets it, as in a RuntimeClass of
// its own. By the second one, as the default runtime of a node, those do that the settings or the pod name.
const (
	Name        = "drainit-runtime"
	DefaultName = "drainit-runtime-default"
)

// Is reports whether a program that was started by this name is the runtime.
func Is(argv0 string) bool {
	name := filepath.Base(argv0)
	return name == Name || name == DefaultName
}

// Run does what the runtime is called for. It returns only where the runtime below can't be executed, with
// the exit status for that. checkGrace returns why a value can't be drainit's grace period.
func Run(argv, environ []string, checkGrace func(value string) error) (status int) {
	c := readCall(argv)
	s, err := readSettings(settingsFile)
	if c.bundle != "" {
		if err == nil {
			err = guarded(func() error { return c.give(s.namespaces, checkGrace) })
		}
		if err != nil {
			c.say("warning", fmt.Errorf("the container starts without drainit: %w", err))
		}
	}
	c.say("error", become(s.runtime, argv, environ))
	return 125
}

// guarded makes a fault of drainit's own an error, too.
func guarded(do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("a fault of drainit: %v", fault)
		}
	}()
	return do()
}

// give puts drainit into the container that is made, if that is one to get it. With an error, config.json is
// as it was.
func (c call) give(namespaces []string, checkGrace func(string) error) error {
	var is unix.Stat_t
	file := c.bundle + "/config.json"
	text, err := os.ReadFile(file)
	if err == nil {
		err = unix.Stat(file, &is)
	}
	if err != nil {
		return err
	}
	spec, valid := readJSON(text)
	switch {
	case !valid:
		return fmt.Errorf("%s is no valid JSON", file)
	case !c.wants(spec.get("annotations"), namespaces):
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	b := bundle{c.bundle, spec, self}
	if b.needsNone() {
		return nil
	}
	if err := b.check(); err != nil {
		return err
	}
	if text, err = b.changed(checkGrace); err != nil {
		return err
	}
	return replace(file, text, int(is.Mode&0o777), int(is.Uid), int(is.Gid))
}

// become executes the runtime below.
func become(runtime string, argv, environ []string) error {
	if runtime == "" {
		runtime = find(os.Getenv("PATH"))
	}
	if runtime == "" {
		return errors.New("found neither runc nor crun: write where the runtime is into " + settingsFile +
			`, as {"runtime": "/usr/sbin/runc"}`)
	}
	err := unix.Exec(runtime, append([]string{runtime}, argv[1:]...), environ)
	return fmt.Errorf("cannot execute the runtime %q: %w", runtime, err)
}

// find returns the path of runc, or else of crun. podman gives no PATH to some of its calls.
func find(path string) string {
	path += ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, name := range []string{"runc", "crun"} {
		for _, dir := range filepath.SplitList(path) {
			var is unix.Stat_t
			file := dir + "/" + name
			if unix.Stat(file, &is) == nil && is.Mode&unix.S_IFMT == unix.S_IFREG && is.Mode&0o111 != 0 {
				return file
			}
		}
	}
	return ""
}
