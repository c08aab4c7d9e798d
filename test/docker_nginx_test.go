package test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// nginx under the stop signal of its image, with a download in flight. It
// listens on a socket in a folder of the test's: the container has no network.
func TestDockerStopSignalOfAnImage(t *testing.T) {
	t.Parallel()
	d := docker(t)
	need(t, "nginx", "ldd")
	d.buildNginx(t)
	dir := t.TempDir()
	file := make([]byte, 16<<20) // more than the buffers of both sockets
	rand.New(rand.NewSource(1)).Read(file)
	writeFile(t, filepath.Join(dir, "file"), file)
	c := d.runImage(t, "web", []string{"--volume", dir + ":/srv"})
	socket := filepath.Join(dir, "socket")
	waitUntil(t, "nginx listens", func() bool { return c.running() && dialUnix(socket) == nil })
	body := downloadUnix(t, socket, "/file")

	stop := c.begin("stop", "--time", "60")
	waitUntil(t, "nginx takes no more connections", func() bool { return dialUnix(socket) != nil })
	if !c.running() {
		t.Fatalf("the container ended before the download:\n%s", c.err())
	}
	got, err := io.ReadAll(body)
	if err != nil || sha256.Sum256(got) != sha256.Sum256(file) {
		t.Errorf("the client got %d bytes of %d, %v", len(got), len(file), err)
	}
	c.wantExit(0)
	stop.wantExit(0)
	c.waitErr(`"msg":"stopping: SIGQUIT sent to nginx.*what still runs after 30s is killed.*"signal":"SIGQUIT"`)
	if got := strings.Count(c.err(), "(SIGQUIT) received"); got != 1 {
		t.Errorf("nginx was signalled %d times:\n%s", got, c.err())
	}
}

// buildNginx makes an image nginx, whose entrypoint is a script as the official
// one's is, and the image to copy upon it.
func (d *dockerd) buildNginx(t *testing.T) {
	t.Helper()
	if err := d.importImage("nginx", nil, func(r *rootfs) {
		r.busybox()
		r.program("nginx")
		r.text("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
		r.text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
		r.text("/etc/group", "nogroup:x:65534:\n")
		r.text("/etc/nginx/nginx.conf", "user nobody nogroup; pid /tmp/pid; error_log stderr notice; events { }\n"+
			"http { access_log off; client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f;\n"+
			"scgi_temp_path /tmp/s; uwsgi_temp_path /tmp/u; server { listen unix:/srv/socket; root /srv; limit_rate 8m; } }\n")
		r.text("/var/log/nginx/error.log", "")
		r.text("/var/lib/nginx/keep", "")
	}); err != nil {
		t.Fatal(err)
	}
	err := d.importImage("drainit", nil, func(r *rootfs) { r.copy("/drainit", drainitBin) })
	if err == nil {
		err = feed(d.client("build", "--network", "none", "--file", "nginx.Dockerfile", "--tag", "web", "-"), func(r *rootfs) {
			r.copy("nginx.Dockerfile", "platform/nginx.Dockerfile")
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func dialUnix(socket string) error {
	conn, err := net.DialTimeout("unix", socket, patience)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return err
	}
	return conn.Close()
}

// downloadUnix begins a download and leaves it behind the first bytes.
func downloadUnix(t *testing.T, socket, path string) io.Reader {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return response.Body
}
