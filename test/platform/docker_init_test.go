package platform

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"drainit/test/harness"
)

func TestDockerInitAboveDrainit(t *testing.T) {
	t.Parallel()
	c := harness.Docker(t).Run(t, "--init", "--", "/drainit", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.WaitOut(`^ready`)
	if got := c.Exec("cat", "/proc/1/cmdline"); !strings.HasPrefix(got, "/sbin/docker-init\x00--\x00/drainit\x00") {
		t.Errorf("PID 1 is %q", got)
	}
	c.Do("stop")
	c.WantExit(7)
	wantLast(c.Init, "got SIGTERM", "drained")
}

// With dockerd --init-path every docker run --init has drainit as its PID 1.
func TestDockerInitIsDrainit(t *testing.T) {
	t.Parallel()
	harness.NeedDocker(t)
	d, err := harness.StartDockerd(harness.DrainitBin, "--init-path", harness.DrainitBin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.End(); err != nil {
			t.Error(err)
		}
	})
	t.Run("all", func(t *testing.T) { // they end before the engine does
		for name, test := range map[string]func(*testing.T, *harness.Dockerd){
			"prints nothing of its own": initPrintsNothing, "passes the status": initPassesTheStatus,
			"drains a shell's worker": initDrains, "is set by the environment": initReadsTheEnvironment,
			"above a drainit": initAboveAnother, "with a terminal": initOnATerminal, "docker info has no complaint": initIsKnownToInfo,
		} {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t, d) })
		}
	})
}

func initPrintsNothing(t *testing.T, d *harness.Dockerd) {
	c := d.Run(t, "--init", "--volume", harness.WorkerBin+":/x:ro", "--", "sh", "-c", "cat /proc/1/cmdline; md5sum /x")
	c.WantExit(0)
	sum := strings.Fields(harness.OutputOf(t, d.Client("run", "--rm", "--pull", "never", "--volume", harness.WorkerBin+":/x:ro", "base", "md5sum", "/x")))[0]
	if got, want := c.Out()+c.Err(), "/sbin/docker-init\x00--\x00sh\x00-c\x00cat /proc/1/cmdline; md5sum /x\x00"+sum+"  /x\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func initPassesTheStatus(t *testing.T, d *harness.Dockerd) {
	d.Run(t, "--init", "--", "sh", "-c", "exit 3").WantExit(3)
	d.Run(t, "--init", "--", "no-such-command").WantExit(127)
	d.Run(t, "--init", "--user", "65532:65532", "--read-only", "--cap-drop", "ALL", "--", "status").WantExit(127) // and no verb of drainit's
}

func initDrains(t *testing.T, d *harness.Dockerd) {
	c := d.Run(t, "--init", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(7)
	wantLast(c.Init, "got SIGTERM", "drained")
}

func initReadsTheEnvironment(t *testing.T, d *harness.Dockerd) {
	c := d.Run(t, "--init", "--env", "DRAINIT_GRACE=500ms", "--", "/worker", "listen", "-drain", "1h")
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(137)
	c.WaitErr(`grace period of 500ms over`)
}

// The variables are for the first drainit there is, and a flag is for its own.
func initAboveAnother(t *testing.T, d *harness.Dockerd) {
	c := d.Run(t, "--init", "--env", "DRAINIT_GRACE=50s", "--", "/drainit", "--grace", "20s", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.WaitOut(`^ready`)
	c.Do("stop")
	c.WantExit(7)
	c.WaitErr(`what still runs after 50s`)
	c.WaitErr(`what still runs after 20s`)
	wantLast(c.Init, "got SIGTERM", "drained")
}

func initOnATerminal(t *testing.T, d *harness.Dockerd) {
	c, keys := terminal(t, d, []string{"--init", "--interactive", "--tty"}, "sh")
	keys("echo $((40+2)); exit 5\n")
	c.WaitOut(`^42\r`)
	c.WantExit(5)
}

// dockerd runs drainit --version whenever it is asked, and logs what it can't read.
func initIsKnownToInfo(t *testing.T, d *harness.Dockerd) {
	got, stock := d.Do(t, "info"), harness.Docker(t).Do(t, "info")
	if want := "Init Binary: " + harness.DrainitBin; !strings.Contains(got, want) {
		t.Errorf("no %q in docker info:\n%s", want, got)
	}
	warning := regexp.MustCompile(`(?i)warning|n/a`)
	if g, s := warning.FindAllString(got, -1), warning.FindAllString(stock, -1); len(g) > len(s) {
		t.Errorf("docker info says %q of drainit, and %q of its own:\n%s", g, s, got)
	}
	log, err := os.ReadFile(d.Log())
	if err != nil || strings.Contains(string(log), "failed to parse") {
		t.Errorf("%v, and the engine logged\n%s", err, log)
	}
}

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
			c := harness.Docker(t).RunImage(t, "base", tt.flags, "/drainit", "-v", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
			c.WaitOut(`^ready`)
			c.Do("stop")
			c.WantExit(7)
			if got := c.Out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
				t.Errorf("not signalled once, or not drained:\n%s\n%s", got, c.Err())
			}
		})
	}
}

// The kernel kills what has the most memory: the worker, and not drainit.
func TestDockerMemoryLimitKillsTheWorker(t *testing.T) {
	t.Parallel()
	d := harness.Docker(t)
	dd := []string{"--", "/drainit", "--", "dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1"}
	d.Run(t, dd...).WantExit(0)
	c := d.Run(t, append([]string{"--memory", "32m"}, dd...)...)
	c.WantExit(137)
	c.WaitErr(`dd\[\d+\] was killed by SIGKILL, which drainit did not send: out of memory, or a kill from outside`)
}
