package main

import (
	"bytes"
	"cmp"
	"crypto/md5"
	"fmt"
	"regexp"
	"strings"
)

// deb is a Debian package, deb(5). It needs no other package.
func (r *release) deb(b binary, d docs) []byte {
	files := []file{
		{"usr/bin/drainit", 0o755, b.data},
		{manDir + "drainit.1.gz", 0o644, gzipped(d.man)},
		{bashDir + "drainit", 0o644, d.bash},
		{"usr/share/zsh/vendor-completions/_drainit", 0o644, d.zsh},
		{fishDir + "drainit.fish", 0o644, d.fish},
		{docDir + "changelog.gz", 0o644, gzipped(d.changelog)},
		{docDir + "copyright", 0o644, d.licenses},
		{docDir + "examples/Dockerfile.example", 0o644, d.example},
	}
	var sums bytes.Buffer
	size := 0
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
		size += (len(f.data) + 1023) / 1024
	}
	control := []file{{"control", 0o644, r.control(b, size)}, {"md5sums", 0o644, sums.Bytes()}}
	return arOf(r.time, []file{
		{"debian-binary", 0o644, []byte("2.0\n")}, // first, and in this order
		{"control.tar.gz", 0o644, gzipped(tarOf(r.time, "./", control))},
		{"data.tar.gz", 0o644, gzipped(tarOf(r.time, "./", files))},
	})
}

// control is what dpkg knows of the package, deb-control(5). size is in KiB.
func (r *release) control(b binary, size int) []byte {
	return fmt.Appendf(nil, `Package: drainit
Version: %s
Architecture: %s
Maintainer: drainit
Installed-Size: %d
Section: admin
Priority: optional
Description: %s
 drainit is the first process of a container. It starts one worker, passes
 signals on to the processes that handle them, and waits until the work in
 flight has ended. What outlives the grace period is killed.
`, r.debVersion(), b.debArch(), size, summary)
}

// pseudo ends the version of a commit without a tag: its time and its hash.
var pseudo = regexp.MustCompile(`(\d{14})-([0-9a-f]{7})[0-9a-f]{5}`)

// debVersion is the version in a form that Debian sorts in the order of the releases:
// what comes before a release, 1.2.3-rc.1, is below it with a ~, and what comes
// after a commit's pseudo version is its hash, which sorts by nothing.
func (r *release) debVersion() string {
	version := pseudo.ReplaceAllString(r.version, "$1.$2")
	return strings.ReplaceAll(version, "-", "~")
}

// debArch is Debian's name of the architecture.
func (b binary) debArch() string {
	other := map[string]string{"arm": "armhf", "386": "i386", "ppc64le": "ppc64el"}[b.arch]
	return cmp.Or(other, b.arch)
}
