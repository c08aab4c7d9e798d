package platform

import (
	"testing"

	"drainit/test/harness"
)

// What an exec runs is not drainit's: it is neither signalled nor waited for. A process that an exec
// leaves in the background becomes drainit's child: it is signalled once, when the worker has gone,
// and waited for.
func TestDockerExecs(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--", "/drainit", "-v", "--", "/worker", "listen", "-drain", "300ms")
	c.WaitOut(`^ready`)
	running := c.D.Begin(t, "exec", c.Name, "/worker", "listen", "-drain", "1h")
	running.WaitOut(`^ready`)
	c.Exec("sh", "-c", "/worker listen -name left: -drain 300ms >/proc/1/fd/2 2>&1 &")
	c.WaitErr(`^left:ready`)
	c.Do("stop", "--time", "60")
	c.WantExit(0)
	wantLast(c.Init, "got SIGTERM", "drained")
	c.WantLogged(`^left:got SIGTERM$`, 1)
	c.WantLogged(`^left:drained$`, 1)
	running.WantExit(137)
	running.WantGots()
}
