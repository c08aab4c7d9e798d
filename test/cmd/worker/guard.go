package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"drainit/test/harness/cgroup"
)

// guard cleans up for a test binary that was killed, by a Ctrl-C say. When that has gone,
// which is the end of standard input, it kills each process with a variable that begins with
// MARKER, "DRAINTEST=PID." with the binary's own, and removes DIR, what is mounted below it,
// and the cgroups that are named for what is in it.
//
//	worker guard MARKER DIR
func guard(args []string) {
	_, err := io.Copy(io.Discard, os.Stdin)
	must("wait for the tests", err)
	marker, dir := args[0], args[1]
	// One that is being started, or is in the middle of an exec, shows no environment.
	const looks, between, atMost = 3, 100 * time.Millisecond, time.Minute
	for deadline, none := time.Now().Add(atMost), 0; none < looks && time.Now().
		Before(deadline); time.Sleep(between) {
		none++
		if killMarked(marker)+endCgroups(marker, dir) > 0 {
			none = 0
		}
	}
	must("clean up", errors.Join(unmountBelow(dir), os.RemoveAll(dir)))
}

// endCgroups kills what is in the tests' cgroups and removes those, and returns how many are
// still there. They are at the top of each hierarchy, with the name of a folder of podman's
// or systemd's, the id of one of Docker's containers, or the pid of the test binary in it.
func endCgroups(marker, dir string) (left int) {
	pid := strings.Trim(marker[strings.IndexByte(marker, '=')+1:], ".")
	names := []string{"drainit-test-" + pid + "-*", "draintest-" + pid + "-*"}
	for _, pattern := range []string{"tmp/podman-*", "tmp/systemd-*",
		"tmp/drainit-docker-*/data/containers/*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern)) // fails for a bad pattern only
		for _, path := range found {
			names = append(names, filepath.Base(path))
		}
	}
	for _, name := range names {
		for _, top := range cgroup.At(name) {
			for _, dir := range cgroup.Tree(top) {
				endCgroup(dir)
			}
			if syscall.Access(top, 0) == nil {
				left++
			}
		}
	}
	return left
}

// endCgroup kills what is in a cgroup, and removes it if it is empty.
func endCgroup(dir string) {
	// What is frozen does not die. Of the two files the version of cgroups has one at most.
	for file, thawed := range map[string]string{"freezer.state": "THAWED", "cgroup.freeze": "0"} {
		if path := filepath.Join(dir, file); syscall.Access(path, 0) == nil {
			_ = os.WriteFile(path, []byte(thawed), 0)
		}
	}
	inside, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for pid := range strings.FieldsSeq(string(inside)) {
		if n, err := strconv.Atoi(pid); err == nil && n > 0 {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	_ = syscall.Rmdir(dir)
}

func unmountBelow(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			err = errors.Join(err, syscall.Unmount(f[1], syscall.MNT_DETACH))
		}
	}
	return err
}

// killMarked kills the processes with the marker and returns how many it could kill. It
// asks each thread: where the first has ended, the process shows no environment.
func killMarked(marker string) (killed int) {
	environs, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/environ")
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, env...), append([]byte{0}, marker...)) {
			continue
		}
		pid, _ := strconv.Atoi(strings.Split(path, "/")[2])
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	return killed
}
