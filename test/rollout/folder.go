package rollout

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// makeFolder makes the scratch folder of a run in a folder, with a short path: sockets are below it.
// First it removes those of runs that were killed. The one that it makes is locked as long as the file is
// open.
func makeFolder(in string) (dir string, lock *os.File, err error) {
	const prefix = "drainit-rollout-"
	left, err := filepath.Glob(filepath.Join(in, prefix+"*"))
	for _, dir := range left {
		lock, err2 := lockFolder(dir)
		if err2 != nil {
			continue // a run is in it, or it is no run's
		}
		report("removing %s, which an earlier run has left", dir)
		err = errors.Join(err, os.RemoveAll(dir), lock.Close())
	}
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(in, prefix); err != nil {
		return "", nil, err
	}
	lock, err = lockFolder(dir)
	return dir, lock, err
}

// lockFolder fails where the folder is locked. The kernel unlocks it when this process ends, however it does.
func lockFolder(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	lock := os.NewFile(uintptr(fd), dir)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// hiding are the folders in whose place the cluster has empty ones: see files/stage.sh.
var hiding = []string{"/run", "/var/lib", "/var/log"}

// hidden says which of what the cluster needs it would not see.
func hidden(needed map[string]string) (err error) {
	for what, path := range needed {
		path, err2 := filepath.EvalSymlinks(path)
		if err2 != nil {
			err = errors.Join(err, err2)
		}
		for _, dir := range hiding {
			if strings.HasPrefix(path+"/", dir+"/") {
				err = errors.Join(err,
					fmt.Errorf("%s is in %s, and must not be below %s: the cluster has an empty folder in "+
						"its place", what, path, dir))
			}
		}
	}
	return err
}
