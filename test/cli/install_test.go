package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drainit/test/harness"
)

// The copy is the program that runs, and all may execute it. A second one replaces it, and what runs of the
// first is not touched.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	install := func() {
		t.Helper()
		cmd := exec.Command("sh", "-c", `umask 077; exec "$0" --install "$1"`, harness.DrainitBin, dir)
		if r := harness.Finish(t, cmd); (r != harness.Ran{}) {
			t.Fatalf("%+v", r)
		}
	}
	install()
	copied := filepath.Join(dir, "drainit")
	is, err := os.Stat(copied)
	harness.Must(t, err)
	if harness.TextOf(t, copied) != harness.TextOf(t, harness.DrainitBin) || is.Mode() != 0o755 {
		t.Errorf("the copy is another, or has mode %v", is.Mode())
	}
	p := harness.Run(t, harness.Launch{Bin: copied, NoPID1: true, Args: harness.Words("-- WORKER listen")})
	p.WaitReady()
	install()
	again, err := os.Stat(copied)
	harness.Must(t, err)
	running, err := os.Readlink("/proc/" + harness.PidInside(p.Pid()) + "/exe")
	if os.SameFile(is, again) || err != nil || running != copied+" (deleted)" {
		t.Errorf("the file was written to while it ran: %q, %v", running, err)
	}
	var all []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	if want := []string{"drainit", "drainit-runtime", "drainit-runtime-default"}; !slices.Equal(all, want) {
		t.Errorf("the folder has %q, want %q", all, want)
	}
	for _, name := range all[1:] {
		if to, err := os.Readlink(filepath.Join(dir, name)); to != "drainit" {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
}

func TestInstallThatFails(t *testing.T) {
	full := t.TempDir()
	harness.Must(t, os.Mkdir(filepath.Join(full, "drainit"), 0o755))
	for dir, want := range map[string]string{
		"/no/such":         "cannot write /no/such/drainit: no such file or directory",
		harness.DrainitBin: "cannot write " + harness.DrainitBin + "/drainit: not a directory",
		"/proc":            "cannot write /proc/drainit: ",
		full:               "cannot write " + full + "/drainit: ",
	} {
		r := harness.RunToEnd(t, harness.Launch{NoPID1: true, Args: []string{"--install", dir}})
		if r.Status != 125 || r.Out != "" || !strings.HasPrefix(r.Err, "drainit: "+want) ||
			strings.Count(r.Err, "\n") != 1 {
			t.Errorf("%s: %+v", dir, r)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(full, "*")); len(left) != 1 {
		t.Errorf("left over: %q", left)
	}
}
