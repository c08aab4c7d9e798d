package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"time"
)

// file is one in an archive, where root owns it.
type file struct {
	name string // without a slash before it
	mode int64
	data []byte
}

// tarOf is a tar of files in the order of their names, each after its folders.
func tarOf(at time.Time, files []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(kind byte, name string, mode int64, data []byte) {
		must(w.WriteHeader(&tar.Header{
			Typeflag: kind, Name: name, Mode: mode, Size: int64(len(data)),
			ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR,
		}))
		_, err := w.Write(data)
		must(err)
	}
	folders := make(map[string]bool)
	byName := func(a, b file) int { return strings.Compare(a.name, b.name) }
	for _, f := range slices.SortedFunc(slices.Values(files), byName) {
		for i, c := range f.name {
			if folder := f.name[:i] + "/"; c == '/' && !folders[folder] {
				folders[folder] = true
				add(tar.TypeDir, folder, 0o755, nil)
			}
		}
		add(tar.TypeReg, f.name, f.mode, f.data)
	}
	must(w.Close())
	return b.Bytes()
}

// gzipped has no name and no time in its head, as `gzip -n -9`.
func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	must(err)
	_, err = w.Write(data)
	must(err)
	must(w.Close())
	return b.Bytes()
}

// must is for what can't fail, such as a write to memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
