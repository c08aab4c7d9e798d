package ociruntime

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mount is where containers have drainit.
const mount = "/drainit"

// bundle is what a container is made of.
type bundle struct {
	dir  string
	spec node   // its config.json
	self string // drainit's own file, which the container gets
}

func (b bundle) args() []string { return b.spec.get("process", "args").strings() }

// needsNone reports whether the command is drainit already, or the pause process of a pod.
func (b bundle) needsNone() bool {
	args := append(b.args(), "", "")
	name := filepath.Base(args[0])
	return name == "drainit" || name == "pause" || name == "catatonit" && args[1] == "-P"
}

// check returns why the container can't have drainit, or would not start with it.
func (b bundle) check() error {
	checks := []func() error{b.checkCommand, b.checkPIDs, b.checkMount, b.checkSelf, b.checkRoom}
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkCommand fails for inits that refuse to work unless they are PID 1: of s6-overlay, systemd, busybox and
// others.
func (b bundle) checkCommand() error {
	args := append(b.args(), "", "")
	name := filepath.Base(args[0])
	if name == "busybox" {
		name = args[1]
	}
	switch name {
	case ".":
		return errors.New("config.json has no command")
	case "init", "systemd", "linuxrc", "runit", "runit-init", "openrc-init":
		return fmt.Errorf("%s must be PID 1", args[0])
	}
	return nil
}

// checkPIDs fails for a container that shares a PID namespace, as the host's or its pod's: the first process
// there is another. What is not for Linux has none.
func (b bundle) checkPIDs() (err error) {
	err = errors.New("it has no PID namespace of its own")
	b.spec.get("linux", "namespaces").each(func(_, namespace node) {
		if namespace.get("type").string() == "pid" && namespace.get("path").string() == "" {
			err = nil
		}
	})
	return err
}

// checkMount fails where a mount at /drainit would be in the way of another, or fail itself.
func (b bundle) checkMount() (err error) {
	b.spec.get("mounts").each(func(_, m node) {
		to := m.get("destination").string()
		if strings.HasPrefix("/"+strings.Trim(to, "/")+"/", mount+"/") {
			err = fmt.Errorf("it has a mount at %s", to)
		}
	})
	if err != nil {
		return err
	}
	root := b.spec.get("root", "path").string()
	if !filepath.IsAbs(root) {
		root = b.dir + "/" + root
	}
	var is unix.Stat_t
	var system unix.Statfs_t
	switch err := unix.Lstat(root+mount, &is); {
	case err == nil && is.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("its image has %s, which is no file", mount)
	case err == nil:
		return nil
	}
	if err = unix.Statfs(root, &system); err == nil && system.Flags&unix.ST_RDONLY != 0 {
		err = unix.EROFS
	}
	if err != nil {
		return fmt.Errorf("cannot make %s in its image: %w", mount, err)
	}
	return nil
}

// checkSelf fails where a user of the container may not execute drainit.
func (b bundle) checkSelf() error {
	var is unix.Stat_t
	err := unix.Stat(b.self, &is)
	if err == nil && is.Mode&0o005 != 0o005 {
		err = errors.New("not every user may read and execute it (chmod 755)")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", b.self, err)
	}
	return nil
}

// What the Go runtime takes before drainit's first line.
const (
	leastPIDs   = 24
	leastMemory = 750 << 20 // of address space
)

// checkRoom fails where the Go runtime would end drainit, and perhaps not the command.
func (b bundle) checkRoom() (err error) {
	number := func(n node) uint64 {
		value, _ := strconv.ParseUint(string(n.text[n.from:n.to]), 10, 64)
		return value
	}
	if n := number(b.spec.get("linux", "resources", "pids", "limit")); n > 0 && n < leastPIDs {
		return fmt.Errorf("its limit of %d processes is too low: drainit takes %d", n, leastPIDs)
	}
	b.spec.get("process", "rlimits").each(func(_, limit node) {
		soft := number(limit.get("soft"))
		if limit.get("type").string() == "RLIMIT_AS" && soft < leastMemory {
			err = fmt.Errorf("its limit of %d bytes of address space is too low", soft)
		}
	})
	limit, _ := b.variable("GOMEMLIMIT")
	unit := strings.TrimLeft(limit, "0123456789")
	if unit != "" && limit != "off" &&
		(unit == limit || !slices.Contains([]string{"B", "KiB", "MiB", "GiB", "TiB"}, unit)) {
		err = cmp.Or(err, fmt.Errorf("the Go runtime can't read GOMEMLIMIT=%s", limit))
	}
	return err
}

// variable returns the value of an environment variable, and whether it is set.
func (b bundle) variable(name string) (value string, set bool) {
	for _, v := range b.spec.get("process", "env").strings() {
		if after, is := strings.CutPrefix(v, name+"="); is {
			value, set = after, true
		}
	}
	return value, set
}

// changed returns config.json with drainit before the command. All else stays, byte for byte.
func (b bundle) changed(checkGrace func(string) error) ([]byte, error) {
	grace, err := graceOf(b.spec.get("annotations"), checkGrace)
	if err != nil {
		return nil, err
	}
	process := b.spec.get("process")
	command := process.get("args").from + 1
	edits := []edit{
		{command, command, `"` + mount + `","--",`},
		b.spec.add("mounts", `{"destination":"`+mount+`","type":"bind","source":`+strconv.Quote(b.self)+
			`,"options":["bind","ro","nosuid","nodev","rprivate"]}`),
	}
	var env []string
	for _, v := range [][2]string{
		{"DRAINIT_GRACE", grace}, {"DRAINIT_SECOND_STOP", "ignore"}, {"DRAINIT_FORWARD", "handlers"},
	} {
		if _, set := b.variable(v[0]); !set && v[1] != "" {
			env = append(env, strconv.Quote(v[0]+"="+v[1]))
		}
	}
	if len(env) > 0 {
		edits = append(edits, process.add("env", strings.Join(env, ",")))
	}
	text := b.spec.edited(edits)
	if !json.Valid(text) {
		return nil, fmt.Errorf("config.json, or the path %q, has an unknown form", b.self)
	}
	return text, nil
}
