package health

import (
	"os"
	"testing"
)

// The file system that may not answer is known by the mounts, and by the links above it.
func TestFileSystemsThatMayNotAnswer(t *testing.T) {
	const root = "22 1 0:20 / / rw,relatime - fuse.fuse-overlayfs fuse-overlayfs rw\n" // podman's, of an ordinary user
	const mounts = root + `23 22 0:21 / /proc rw - proc proc rw
24 22 0:22 / /run rw shared:3 - tmpfs tmpfs rw
25 24 0:23 / /run/s3 rw - fuse.s3fs s3 rw
26 22 0:24 / /my\040data rw master:4 propagate_from:2 - nfs4 server:/x rw
27 26 0:25 / /my\040data/local rw - ext4 /dev/sda1 rw
28 22 0:26 / /covered rw - cifs //server/x rw
29 28 0:27 / /covered rw - tmpfs tmpfs rw
30 22 0:28 / /home rw - ceph server:/ rw
`
	links := map[string]string{"/var/run": "/run", "/srv": "my data", "/run/up": "../home/app/up", "/ring": "ring", "/my data/link": "/run"}
	readlink := func(path string) (string, error) {
		if path == "/my data/link" {
			t.Error("a link is read where it may hang")
		}
		if to, is := links[path]; is {
			return to, nil
		}
		return "", os.ErrInvalid
	}
	for file, want := range map[string]string{
		"": "", "/up": "", "/tmp/up": "", "/run/ready": "", "/run/s3/up": "fuse.s3fs", "/run/s3": "fuse.s3fs", "/run/s3x": "",
		"/my data/up": "nfs4", "/my data/local/up": "nfs4", "/my data/link/up": "nfs4", "/covered/up": "", "/home/app/up": "ceph",
		"/var/run/ready": "", "/var/run/s3/up": "fuse.s3fs", "/srv/up": "nfs4", "/run/up": "ceph", "/ring/up": "",
	} {
		if got := unansweringKind(mounts, file, readlink); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
	if got := unansweringKind("", "/run/s3/up", readlink); got != "" {
		t.Errorf("without /proc: %q", got)
	}
}
