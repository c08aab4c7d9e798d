package platform

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

	"drainit/test/harness"
)

// nginx under the stop signal of its image, with a download in flight. It
// listens on a socket in a folder of the test's: the container has no network.
func TestDockerStopSignalOfAnImage(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	harness.Need(t, "nginx", "ldd")
	buildNginx(t, d)
	dir := t.TempDir()
	file := make([]byte, 16<<20) // more than the buffers of both sockets
	rand.New(rand.NewSource(1)).Read(file)
	harness.WriteFile(t, filepath.Join(dir, "file"), file)
	c := d.RunImage(t, "web", []string{"--volume", dir + ":/srv"})
	socket := filepath.Join(dir, "socket")
	harness.WaitUntil(t, "nginx listens", func() bool { return c.Running() && dialUnix(socket) == nil })
	body := downloadUnix(t, socket, "/file")

	stop := c.Begin("stop", "--time", "60")
	harness.WaitUntil(t, "nginx takes no more connections", func() bool { return dialUnix(socket) != nil })
	if !c.Running() {
		t.Fatalf("the container ended before the download:\n%s", c.Err())
	}
	got, err := io.ReadAll(body)
	if err != nil || sha256.Sum256(got) != sha256.Sum256(file) {
		t.Errorf("the client got %d bytes of %d, %v", len(got), len(file), err)
	}
	c.WantExit(0)
	stop.WantExit(0)
	c.WaitErr(`"msg":"stopping: SIGQUIT sent to nginx.*what still runs after 30s is killed.*"signal":"SIGQUIT"`)
	if got := strings.Count(c.Err(), "(SIGQUIT) received"); got != 1 {
		t.Errorf("nginx was signalled %d times:\n%s", got, c.Err())
	}
}

// buildNginx makes an image nginx, whose entrypoint is a script as the official
// one's is, and the image to copy upon it.
func buildNginx(t *testing.T, d *harness.Dockerd) {
	t.Helper()
	if err := d.ImportImage("nginx", nil, func(r *harness.Rootfs) {
		r.Busybox()
		r.Program("nginx")
		r.Text("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
		r.Text("/etc/group", "nogroup:x:65534:\n")
		r.Text("/etc/nginx/nginx.conf", "user nobody nogroup; pid /tmp/pid; error_log stderr notice; events { }\n"+
			"http { access_log off; client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f;\n"+
			"scgi_temp_path /tmp/s; uwsgi_temp_path /tmp/u; server { listen unix:/srv/socket; root /srv; limit_rate 8m; } }\n")
		r.Text("/var/log/nginx/error.log", "")
		r.Text("/var/lib/nginx/keep", "")
	}); err != nil {
		t.Fatal(err)
	}
	err := d.ImportImage("drainit", nil, func(r *harness.Rootfs) { r.Copy("/drainit", harness.DrainitBin) })
	if err == nil {
		err = harness.Feed(d.Client("build", "--network", "none", "--file", "nginx.Dockerfile", "--tag", "web", "-"), func(r *harness.Rootfs) {
			r.Copy("nginx.Dockerfile", "nginx.Dockerfile")
		})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func dialUnix(socket string) error {
	conn, err := net.DialTimeout("unix", socket, harness.Patience)
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
	if err := conn.SetDeadline(time.Now().Add(2 * harness.Patience)); err != nil {
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
