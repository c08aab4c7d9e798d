package test

import (
	"strings"
	"testing"
)

// In place of catatonit: podman calls it as `/run/podman-init -- COMMAND`.
func TestPodmanInit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings string
		flags    []string
	}{
		"--init-path":               {"", []string{"--init", "--init-path", drainitBin}},
		"init_path in the settings": {"init_path = \"" + drainitBin + "\"", []string{"--init"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startPodman(t, tt.settings)
			e.ask("info") // has nothing to complain of
			e.initIsSilent(tt.flags)
			e.initDrains(tt.flags)
		})
	}
}

// initIsSilent checks that what a program prints is all that comes out of its
// container.
func (e podman) initIsSilent(flags []string) {
	e.t.Helper()
	p := e.run("silent", flags, "/bin/busybox", "cat", "/motto")
	p.wantExit(0)
	if p.out() != motto || p.err() != "" {
		e.t.Errorf("stdout %q, stderr %q", p.out(), p.err())
	}
}

// initDrains checks that drainit is what is in front of the worker, drains it
// and returns its status, though the container was started without it.
func (e podman) initDrains(flags []string) {
	e.t.Helper()
	p := e.run("drained", flags, "/worker", "listen", "-drain", "300ms", "-exit", "7")
	p.waitOut(`^ready`)
	status := e.exec("drained", "/run/podman-init", "status")
	if status.status != 0 || !strings.HasPrefix(status.out, "running: drainit[1], 1 process below it") {
		e.t.Errorf("the status by the init is %+v", status)
	}
	e.ask("stop", "drained")
	p.wantExit(7)
	p.wantGots("got SIGTERM")
	p.wantCount("drained", 1)
	p.wantLogged(`what still runs after 30s`, 1)
}
