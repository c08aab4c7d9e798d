// Package main makes of the binaries of a release what nfpm does not: images, trees for
// other packagers, a bill of materials and the licences.
//
//	go run ./.ci/package OUTDIR
//
// OUTDIR holds the binaries that .ci/release has built. What the packages say of them, the
// version, the commit and its time, comes from their own build info. It runs without
// root and a container engine, and the same binaries give the same bytes.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// summary is what the packages say drainit is.
const summary = "container init that drains its worker before it stops"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./.ci/package OUTDIR")
		os.Exit(64)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "cannot make the packages:", err)
		os.Exit(1)
	}
}

// run writes all packages beside the binaries.
func run(dir string) error {
	r, err := readRelease(dir)
	if err != nil {
		return err
	}
	docs, err := r.readDocs()
	if err != nil {
		return err
	}
	var failed error
	write := func(name string, data []byte) {
		fmt.Println(name)
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	write("drainit-licenses.txt", docs.licenses)
	write("drainit.spdx.json", r.bill())
	write("drainit-oci.tar", r.images())
	for _, b := range r.binaries {
		write("drainit-image-linux-"+b.arch+".tar", r.image(b))
		write("drainit-"+r.version+"-linux-"+b.arch+".tar.gz", r.tree(b, docs))
	}
	return failed
}
