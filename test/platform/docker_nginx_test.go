package platform

import (
	"strings"
	"testing"

	"drainit/test/harness"
)

// nginx under the stop signal of its image, whose entrypoint is a script as the official one's is:
// nginx.Dockerfile is built upon it. test/workers shows what a download in flight comes to.
func TestDockerStopSignalOfAnImage(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	harness.Need(t, "nginx", "ldd")
	err := d.ImportImage("nginx", nil, func(r *harness.Rootfs) {
		r.Busybox()
		r.Program("nginx")
		r.Text("/docker-entrypoint.sh", "#!/bin/sh\nexec \"$@\"\n")
		r.Text("/etc/passwd", "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
		r.Text("/etc/group", "nogroup:x:65534:\n")
		r.Text("/etc/nginx/nginx.conf", "user nobody nogroup; pid /tmp/pid; error_log stderr notice; events { }\n"+
			"http { access_log off; client_body_temp_path /tmp/b; proxy_temp_path /tmp/p; fastcgi_temp_path /tmp/f;\n"+
			"scgi_temp_path /tmp/s; uwsgi_temp_path /tmp/u; server { listen unix:/tmp/socket; } }\n")
		r.Text("/var/log/nginx/error.log", "")
		r.Text("/var/lib/nginx/keep", "")
	})
	if err == nil {
		err = d.ImportImage("drainit", nil, func(r *harness.Rootfs) { r.Copy("/drainit", harness.DrainitBin) })
	}
	if err == nil {
		err = harness.Feed(d.Client("build", "--network", "none", "--file", "nginx.Dockerfile", "--tag", "web", "-"), func(r *harness.Rootfs) {
			r.Copy("nginx.Dockerfile", "nginx.Dockerfile")
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	c := d.RunImage(t, "web", nil)
	c.WaitErr(`start worker process \d+`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	c.WaitErr(`"msg":"stopping: SIGQUIT sent to nginx.*what still runs after 30s is killed.*"signal":"SIGQUIT"`)
	if got := strings.Count(c.Err(), "(SIGQUIT) received"); got != 1 {
		t.Errorf("nginx was signalled %d times:\n%s", got, c.Err())
	}
}
