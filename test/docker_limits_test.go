package test

import (
	"strings"
	"testing"
)

// Each takes something from a container that drainit might need; the worker is
// behind a shell, so that drainit must look into /proc to tell it.
func TestDockerDrainsWithFewRights(t *testing.T) {
	t.Parallel()
	all := []string{"--read-only", "--user", "65532:65532", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "40"}
	for _, tt := range []struct {
		name  string
		flags []string
	}{
		{"with Docker's seccomp profile", nil},
		{"without a seccomp profile", []string{"--security-opt", "seccomp=unconfined"}},
		{"with a read-only root", all[:1]},
		{"as a plain user", all[1:3]},
		{"as root without capabilities", all[3:5]},
		{"with all of that and no new privileges", all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := docker(t).runImage(t, "base", tt.flags, "/drainit", "-v", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
			c.waitOut(`^ready`)
			c.do("stop")
			c.wantExit(7)
			if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
				t.Errorf("not signalled once, or not drained:\n%s\n%s", got, c.err())
			}
		})
	}
}

// The kernel kills what has the most memory: the worker, and not drainit.
func TestDockerMemoryLimitKillsTheWorker(t *testing.T) {
	t.Parallel()
	d := docker(t)
	dd := []string{"--", "/drainit", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"}
	d.run(t, dd...).wantExit(0)
	c := d.run(t, append([]string{"--memory", "32m"}, dd...)...)
	c.wantExit(137)
	c.waitErr(`dd\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, or a kill from outside`)
}
