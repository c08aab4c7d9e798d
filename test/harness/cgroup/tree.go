package cgroup

import (
	"io/fs"
	"path/filepath"
	"slices"
)

// At are the folders of a cgroup, whose name may be a pattern of path/filepath: the one of
// version 2, or one in each hierarchy of version 1 that has it.
func At(name string) (all []string) {
	for _, hierarchy := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/*"} {
		found, _ := filepath.Glob(filepath.Join(hierarchy, name)) // fails for a bad pattern only
		all = append(all, found...)
	}
	return all
}

// Tree are the folders of a cgroup and of those below it, each behind what is below it: in
// the order in which they can be removed.
func Tree(top string) (all []string) {
	_ = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			all = append(all, path)
		}
		return nil // what has gone by itself is no error
	})
	slices.Reverse(all)
	return all
}
