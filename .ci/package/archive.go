package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
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

// tarOf is a tar of files in the order of their names, each after its folders. top is
// put before every name: Debian's begin with "./", which is itself a folder then.
func tarOf(at time.Time, top string, files []file) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(kind byte, name string, mode int64, data []byte) {
		must(w.WriteHeader(&tar.Header{
			Typeflag: kind, Name: top + name, Mode: mode, Size: int64(len(data)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}))
		_, err := w.Write(data)
		must(err)
	}
	if top != "" {
		add(tar.TypeDir, "", 0o755, nil)
	}
	folders := make(map[string]bool)
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) }) {
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

// arOf is an ar archive, deb(5): a head of 60 bytes before each file, which begins at an
// even offset.
func arOf(at time.Time, files []file) []byte {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8o%-10d`\n", f.name, at.Unix(), 0, 0, 0o100000|f.mode, len(f.data))
		b.Write(f.data)
		if len(f.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// must is for what can't fail, such as a write to memory.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
