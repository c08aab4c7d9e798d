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
)

// guard cleans up for a test binary that was killed. When that has gone, which is the end
// of standard input, it kills each process with a variable that begins with MARKER, and
// removes DIR.
//
//	worker guard MARKER DIR
func guard(args []string) error {
	if len(args) != 2 {
		return errors.New("guard takes a marker and a folder")
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	// One that is being started, or is in the middle of an exec, shows no environment.
	const looks, between, atMost = 3, 100 * time.Millisecond, time.Minute
	for deadline, none := time.Now().Add(atMost), 0; none < looks && time.Now().Before(deadline); time.Sleep(between) {
		none++
		if killMarked(args[0]) > 0 {
			none = 0
		}
	}
	return os.RemoveAll(args[1])
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
