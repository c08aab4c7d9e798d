package test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestDockerInitAboveDrainit(t *testing.T) {
	t.Parallel()
	c := docker(t).run(t, "--init", "--", "/drainit", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.waitOut(`^ready`)
	if got := c.exec("cat", "/proc/1/cmdline"); !strings.HasPrefix(got, "/sbin/docker-init\x00--\x00/drainit\x00") {
		t.Errorf("PID 1 is %q", got)
	}
	c.do("stop")
	c.wantExit(7)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("not signalled once, or not drained:\n%s", got)
	}
}

// With dockerd --init-path every docker run --init has drainit as its PID 1.
func TestDockerInitIsDrainit(t *testing.T) {
	t.Parallel()
	needDocker(t)
	d, err := startDockerd(drainitBin, "--init-path", drainitBin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.end(); err != nil {
			t.Error(err)
		}
	})
	t.Run("all", func(t *testing.T) { // they end before the engine does
		for name, test := range map[string]func(*testing.T, *dockerd){
			"prints nothing of its own": initPrintsNothing, "passes the status": initPassesTheStatus,
			"drains a shell's worker": initDrains, "is set by the environment": initReadsTheEnvironment,
			"above a drainit": initAboveAnother, "with a terminal": initOnATerminal, "docker info has no complaint": initIsKnownToInfo,
		} {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(t, d) })
		}
	})
}

func initPrintsNothing(t *testing.T, d *dockerd) {
	c := d.run(t, "--init", "--volume", workerBin+":/x:ro", "--", "sh", "-c", "cat /proc/1/cmdline; md5sum /x")
	c.wantExit(0)
	sum := strings.Fields(outputOf(t, d.client("run", "--rm", "--pull", "never", "--volume", workerBin+":/x:ro", "base", "md5sum", "/x")))[0]
	if got, want := c.out()+c.err(), "/sbin/docker-init\x00--\x00sh\x00-c\x00cat /proc/1/cmdline; md5sum /x\x00"+sum+"  /x\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}

func initPassesTheStatus(t *testing.T, d *dockerd) {
	d.run(t, "--init", "--", "sh", "-c", "exit 3").wantExit(3)
	d.run(t, "--init", "--", "no-such-command").wantExit(127)
	d.run(t, "--init", "--user", "65532:65532", "--read-only", "--cap-drop", "ALL", "--", "status").wantExit(127) // and no verb of drainit's
}

func initDrains(t *testing.T, d *dockerd) {
	c := d.run(t, "--init", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(7)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("not signalled once, or not drained:\n%s", got)
	}
}

func initReadsTheEnvironment(t *testing.T, d *dockerd) {
	c := d.run(t, "--init", "--env", "DRAINIT_GRACE=500ms", "--", "/worker", "listen", "-drain", "1h")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(137)
	c.waitErr(`grace period of 500ms over`)
}

// The variables are for the first drainit there is, and a flag is for its own.
func initAboveAnother(t *testing.T, d *dockerd) {
	c := d.run(t, "--init", "--env", "DRAINIT_GRACE=50s", "--", "/drainit", "--grace", "20s", "--", "sh", "-c", "/worker listen -drain 300ms -exit 7; exit $?")
	c.waitOut(`^ready`)
	c.do("stop")
	c.wantExit(7)
	c.waitErr(`what still runs after 50s`)
	c.waitErr(`what still runs after 20s`)
	if got := c.out(); !strings.HasSuffix(got, "\ngot SIGTERM\ndrained\n") {
		t.Errorf("not signalled once, or not drained:\n%s", got)
	}
}

func initOnATerminal(t *testing.T, d *dockerd) {
	c, keys := d.terminal(t, []string{"--init", "--interactive", "--tty"}, "sh")
	keys("echo $((40+2)); exit 5\n")
	c.waitOut(`^42\r`)
	c.wantExit(5)
}

// dockerd runs drainit --version whenever it is asked, and logs what it can't read.
func initIsKnownToInfo(t *testing.T, d *dockerd) {
	got, stock := d.do(t, "info"), docker(t).do(t, "info")
	if want := "Init Binary: " + drainitBin; !strings.Contains(got, want) {
		t.Errorf("no %q in docker info:\n%s", want, got)
	}
	warning := regexp.MustCompile(`(?i)warning|n/a`)
	if g, s := warning.FindAllString(got, -1), warning.FindAllString(stock, -1); len(g) > len(s) {
		t.Errorf("docker info says %q of drainit, and %q of its own:\n%s", g, s, got)
	}
	log, err := os.ReadFile(d.log())
	if err != nil || strings.Contains(string(log), "failed to parse") {
		t.Errorf("%v, and the engine logged\n%s", err, log)
	}
}
